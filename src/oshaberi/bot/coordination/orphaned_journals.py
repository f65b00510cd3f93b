"""Settles what a process left behind whose name does not come back.

Every process says in the database that it is there. Whoever is silent for long has ended: what its
journal holds is taken over by the first that looks, and settled as if it had been its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from oshaberi.bot.coordination.crash_recovery import CrashRecovery
from oshaberi.storage import Database, StorageError

log = logging.getLogger(__name__)

BEAT_SECONDS = 20.0
SILENT_FOR = timedelta(minutes=2)
"""Longer than a restart, and than the clocks of two machines differ."""
LOOKS_SILENT = 3
"""So many looks in a row: where the clock was set forward, who is there has beaten by then."""


class OrphanedJournals:
    """Of one process. `is_ready`: whether Discord can be asked."""

    def __init__(
        self, db: Database, instance: str, recovery: CrashRecovery, is_ready: Callable[[], bool]
    ) -> None:
        self._db = db
        self._instance = instance
        self._recovery = recovery
        self._is_ready = is_ready
        self._silent: Counter[str] = Counter()

    async def run(self) -> None:
        """Never ends by itself."""
        while True:
            try:
                await self.look()
            except StorageError as error:
                log.warning("other processes cannot be looked for: %s", error)
            await asyncio.sleep(BEAT_SECONDS)

    async def look(self) -> int:
        """How many answers of others were settled."""
        await self._db.instances.beat(self._instance)
        if not self._is_ready():
            return 0
        silent = await self._db.instances.gone(SILENT_FOR)
        self._silent = Counter({name: self._silent[name] + 1 for name in silent})
        gone = [name for name, looks in self._silent.items() if looks >= LOOKS_SILENT]
        return sum([await self._succeed(name) for name in gone])

    async def _succeed(self, name: str) -> int:
        """Of several that try, one gets them."""
        keys = await self._db.journal.adopt(name, self._instance)
        if not keys:
            return 0
        count = await self._recovery.run(keys)
        log.info("%d answers of %s were settled, which has not come back", count, name)
        return count
