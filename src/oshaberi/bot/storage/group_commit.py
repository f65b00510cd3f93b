"""Group commit: joins the writes of all turns of a process into few transactions.

A caller waits until its entry is durable. Entries that wait at the same time share a transaction; a
single entry is written at once. While the database is down, entries are kept by the rules of
`bot.storage.writes`, and written when it is up again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from oshaberi.bot.storage.errors import StorageAwayError, StorageError
from oshaberi.bot.storage.outages import DatabaseCircuitBreaker
from oshaberi.bot.storage.writes import (
    BatchRunner,
    CommitUnknownError,
    KeptWrites,
    WriteEntry,
    WriteStep,
)
from oshaberi.terminal_output import counted
from oshaberi.virtual_time import VirtualLoop, outside_work

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.03
"""The least time between the starts of two transactions."""
LINGER_SECONDS = 5.0
"""How long an entry that nobody waits for may wait for others, unless it says otherwise."""
MOST_AT_ONCE = 500
CLOSE_SECONDS = 2.5


class GroupCommit:
    """The writer of an open database. Keeps the order of calls to `write` and `queue`."""

    def __init__(self, runner: BatchRunner, breaker: DatabaseCircuitBreaker) -> None:
        self._runner = runner
        self._breaker = breaker
        self._waiting: deque[WriteEntry] = deque()
        self._under_way: list[WriteEntry] = []
        self._doubt: tuple[int, list[WriteEntry]] | None = None
        self._hurry = asyncio.Event()
        self._linger: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._began_s = float("-inf")
        self._kept = KeptWrites(self._waiting, breaker)
        breaker.on_lost = self._begin_outage

    def __len__(self) -> int:
        """Return how many entries are not durable yet."""
        return len(self._waiting) + len(self._under_way) + len(self._doubted)

    @property
    def kept(self) -> int:
        """Return how many entries wait because the database is away."""
        return len(self) if self._breaker.is_away else 0

    @property
    def _doubted(self) -> list[WriteEntry]:
        return [] if self._doubt is None else self._doubt[1]

    async def write(self, *steps: WriteStep, lane: str = "", repeatable: bool = False) -> None:
        """Write steps, and return when they are durable.

        Raises StorageAwayError if they are kept but not durable yet, and any other StorageError if
        the database refuses them. They are written even if the caller is cancelled.
        """
        await self.write_entry(WriteEntry(steps, lane=lane, repeatable=repeatable))

    async def write_entry(self, entry: WriteEntry) -> None:
        for error in await self.write_all([entry]):
            if error is not None:
                raise error

    async def write_all(self, entries: Sequence[WriteEntry]) -> list[StorageError | None]:
        """Write in one transaction if none is refused. Return the error of each entry, or None."""
        loop = asyncio.get_running_loop()
        waits = [loop.create_future() for _ in entries]
        for entry, wait in zip(entries, waits, strict=True):
            wait.add_done_callback(_error)  # a cancelled caller does not retrieve it
            entry.done = wait
        self._put(entries, 0)
        with outside_work():
            await asyncio.wait(waits)
        return [_error(wait) for wait in waits]

    def queue(
        self,
        *steps: WriteStep,
        lane: str = "",
        repeatable: bool = False,
        linger_s: float = LINGER_SECONDS,
    ) -> None:
        """Write later, in order: with the next awaited entry, or after `linger_s`.

        If that fails, the error is logged.
        """
        self.queue_entry(WriteEntry(steps, lane=lane, repeatable=repeatable), linger_s)

    def queue_entry(self, entry: WriteEntry, linger_s: float = LINGER_SECONDS) -> None:
        self._put([entry], linger_s)

    async def flush(self) -> None:
        """Wait until everything in the queue is durable."""
        if len(self):
            await self.write_entry(WriteEntry(repeatable=True))

    async def close(self) -> None:
        """Write what is left. Gives a database that is down a moment to recover."""
        if self._task is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._empty()
            self._task.cancel()
            await asyncio.wait({self._task})
        self._set_linger(None)
        left = (*self._waiting, *self._under_way, *self._doubted)
        if lost := sum(not entry.is_empty for entry in left):
            log.error("not stored, and lost: %s", counted(lost, "entry"))
        self._runner.close()

    async def _empty(self) -> None:
        with outside_work():
            while len(self):
                await self._breaker.back()
                with suppress(StorageAwayError):
                    await self.flush()

    def _put(self, entries: Sequence[WriteEntry], linger_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiting.extend(entries)
        if self._task is None:
            self._task = loop.create_task(self._run(), name="group commit")
        if not linger_s:
            self._hurry.set()
        elif self._linger is None or self._linger.when() > loop.time() + linger_s:
            self._set_linger(loop.call_later(linger_s, self._hurry.set))
        if self._breaker.is_away:
            self._kept.keep(entries)

    def _set_linger(self, timer: asyncio.TimerHandle | None) -> None:
        if self._linger is not None:
            self._linger.cancel()
        self._linger = timer

    async def _run(self) -> None:
        while True:
            await self._hurry.wait()
            await self._breaker.back()
            await self._pace()
            self._set_linger(None)
            await self._clear_up_doubt()
            self._under_way = self._next_batch()
            if not self._waiting:
                self._hurry.clear()
            await self._store(self._under_way)

    def _next_batch(self) -> list[WriteEntry]:
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]

    async def _pace(self) -> None:
        """Wait a moment after the last transaction, so that more entries can join the next."""
        loop = asyncio.get_running_loop()
        left_s = self._began_s + INTERVAL_SECONDS - loop.time()
        if left_s > 0 and not _is_virtual():
            await asyncio.sleep(left_s)
        self._began_s = loop.time()

    async def _store(self, batch: list[WriteEntry]) -> None:
        """Write all entries in one transaction; if one is refused, each in its own."""
        parts = deque([batch] if batch else [])
        while parts:
            part = parts.popleft()
            try:
                if not all(entry.is_empty for entry in part):
                    await self._transaction(part)
            except CommitUnknownError as error:
                self._doubt = (error.xid, part)
                self._take_back([entry for rest in parts for entry in rest])
                self._breaker.failed(error)
                return
            except StorageAwayError as error:
                self._take_back([entry for rest in (part, *parts) for entry in rest])
                self._breaker.failed(error)
                return
            except StorageError as error:
                self._breaker.failed(error)
                if len(part) == 1:
                    _refused(part[0], error)
                parts.extendleft([entry] for entry in reversed(part) if len(part) > 1)
            else:
                _settle(part)
        self._under_way = []

    async def _transaction(self, entries: list[WriteEntry]) -> None:
        """Run a transaction. If it hangs, release the callers and keep waiting for its outcome."""
        now_s = asyncio.get_running_loop().time
        began_s = now_s()
        with outside_work():
            task = asyncio.create_task(self._runner.run(entries, self._breaker.heard))
            try:
                await self._breaker.watch(task)
                await asyncio.wait({task})
            finally:
                task.cancel()
                self._breaker.meter.on_call("commit", now_s() - began_s)
        task.result()

    async def _clear_up_doubt(self) -> None:
        """Ask the database whether a COMMIT that got no answer took effect."""
        while self._doubt is not None:
            xid, entries = self._doubt
            try:
                was_committed = await self._breaker.answer(self._runner.was_committed(xid))
            except StorageError as error:
                self._breaker.lost(str(error))
                await self._breaker.back()
                continue
            self._doubt = None
            if was_committed:
                _settle(entries)
            else:
                self._take_back(entries)

    def _take_back(self, entries: Sequence[WriteEntry]) -> None:
        self._under_way = []
        self._waiting.extendleft(reversed(entries))
        self._hurry.set()
        if self._breaker.is_away:
            self._kept.keep_all()

    def _begin_outage(self) -> None:
        self._kept.begin_outage((*self._under_way, *self._doubted))


def _settle(entries: Sequence[WriteEntry]) -> None:
    for entry in entries:
        if entry.done is not None and not entry.done.done():
            entry.done.set_result(None)


def _refused(entry: WriteEntry, error: StorageError) -> None:
    if entry.done is None:
        log.error("an entry could not be stored: %s", error)
    else:
        entry.fail(error)


def _error(wait: asyncio.Future[None]) -> StorageError | None:
    error = None if wait.cancelled() else wait.exception()
    return error if isinstance(error, StorageError) else None


def _is_virtual() -> bool:
    return isinstance(asyncio.get_running_loop(), VirtualLoop)
