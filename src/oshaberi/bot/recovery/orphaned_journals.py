"""Takes over the journals and questions of ended processes that do not come back.

Every process holds leases (Redis, PostgreSQL) that end with it, so the others notice its end within
seconds. Without leases, each process writes a heartbeat into the database; a process without a
recent heartbeat counts as ended. The first process that notices takes over and finishes the work as
its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta

from oshaberi.bot.coordination.message_claims import InstanceLease
from oshaberi.bot.recovery.crash_recovery import CrashRecovery
from oshaberi.bot.recovery.question_recovery import QuestionRecovery
from oshaberi.bot.storage import Database, StorageError
from oshaberi.clocks import loop_clock
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)

BEAT_SECONDS = 20.0
SILENT_FOR = timedelta(minutes=2)
"""How long a process may be silent: longer than a restart takes, and than the clocks of two
machines differ."""
LOOKS_SILENT = 3
"""How many checks in a row must find a process silent. If only the clock was set forward, a running
process has reported again by then."""
LEASE_SECONDS = 2.0
LOOKS_MISSING = 3
"""How many checks in a row must find the lease missing. A process that only lost its connection has
taken its lease again by then."""


class OrphanedJournals:
    """Looks for ended processes. `is_ready` returns whether Discord can be asked."""

    def __init__(
        self,
        db: Database,
        instance: str,
        recovery: CrashRecovery,
        questions: QuestionRecovery,
        is_ready: Callable[[], bool],
        leases: Mapping[str, InstanceLease],
    ) -> None:
        self._db = db
        self._instance = instance
        self._recovery = recovery
        self._questions = questions
        self._is_ready = is_ready
        self._leases = leases
        self._silent: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()

    async def run(self) -> None:
        """Check again and again, until cancelled."""
        now = loop_clock()
        beat_at = now()
        while True:
            try:
                if now() >= beat_at:
                    beat_at = now() + BEAT_SECONDS
                    await self.look()
                await self.look_at_leases()
            except StorageError as error:
                log.warning("other processes cannot be looked for: %s", error)
            await asyncio.sleep(LEASE_SECONDS if self._leases else BEAT_SECONDS)

    async def look(self) -> int:
        """Take over the work of silent processes. Return the number of recovered items."""
        await self._db.instances.beat(self._instance, self._leases)
        if not self._is_ready():
            return 0
        silent = await self._db.instances.silent_for(SILENT_FOR)
        self._silent = Counter({name: self._silent[name] + 1 for name in silent})
        gone = [name for name, looks in self._silent.items() if looks >= LOOKS_SILENT]
        return sum([await self._take_over(name) for name in gone])

    async def look_at_leases(self) -> int:
        """Take over the work of processes without a lease. Return the number of recovered items."""
        if not self._leases or not self._is_ready():
            return 0
        others = await self._db.instances.others(self._instance)
        missing = [name for name, held in others.items() if await self._is_missing(name, held)]
        self._missing = Counter({name: self._missing[name] + 1 for name in missing})
        gone = [name for name, looks in self._missing.items() if looks >= LOOKS_MISSING]
        return sum([await self._take_over(name) for name in gone])

    async def _is_missing(self, name: str, held: frozenset[str]) -> bool:
        """Return whether a process is gone: one of its leases has ended, and it holds no other."""
        asked = [lease for kind, lease in self._leases.items() if kind in held]
        verdicts = [await lease.is_gone(name) for lease in asked]
        return True in verdicts and False not in verdicts

    async def _take_over(self, name: str) -> int:
        """Take over what a process left. If several processes try, one succeeds."""
        keys = await self._db.journal.adopt(name, self._instance)
        questions = await self._db.questions.adopt(name, self._instance)
        if keys:
            await self._recovery.run(keys)
        if questions:
            await self._questions.run()
        if keys or questions:
            log.info(
                "%s is gone: took over %s and %s of it",
                *(name, counted(len(keys), "answer"), counted(questions, "question")),
            )
        return len(keys) + questions
