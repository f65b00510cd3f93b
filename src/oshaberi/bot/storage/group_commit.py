"""Group commit: joins the writes of all turns of a process into few transactions.

A caller waits until its entry is durable. Entries that wait at the same time share a transaction; a
single entry is written at once. While the database is away, nobody waits: entries are kept in
order, and written when it is back. `bot.storage.batches` executes a transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Executable

from oshaberi.bot.storage.errors import StorageAwayError, StorageError
from oshaberi.bot.storage.outages import DatabaseCircuitBreaker
from oshaberi.clocks import loop_clock
from oshaberi.terminal_output import counted
from oshaberi.virtual_time import VirtualLoop

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.03
"""The least time between the starts of two transactions."""
LINGER_SECONDS = 5.0
"""How long an entry that nobody waits for may wait for others, unless it says otherwise."""
MOST_AT_ONCE = 500
CLOSE_SECONDS = 2.5
MOST_KEPT = 20_000
MOST_KEPT_CHARACTERS = 64 * 1024 * 1024

OnActivity = Callable[[], None]
"""Called whenever the database has done something, which shows that it is up."""


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One statement with its values. Equal statements are the same object."""

    statement: Executable
    values: Mapping[str, Any]
    row: tuple[object, ...] | None = None
    """The one row that it inserts, changes or deletes; None if it is not known or not one."""


@dataclass(slots=True, eq=False)
class WriteEntry:
    """Steps that are written together or not at all.

    Entries of one `lane` keep their order; lanes are independent of each other. `tallies` only
    count up, so their order does not matter: they run last and sorted, so that two processes never
    wait for each other's rows. `repeatable`: writing it twice has the same effect as writing it
    once.
    """

    steps: tuple[WriteStep, ...] = ()
    tallies: tuple[WriteStep, ...] = ()
    lane: str = ""
    repeatable: bool = False
    done: asyncio.Future[None] | None = None
    """The future of the caller that waits for the entry; None if nobody waits."""

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to write: it only waits for the entries before it."""
        return not (self.steps or self.tallies)

    @property
    def size(self) -> int:
        """Return roughly how many characters the entry holds."""
        return sum(_size(step.values) for step in (*self.steps, *self.tallies))

    def fail(self, error: Exception) -> None:
        """Raise the error in the caller that waits for the entry, if there is one."""
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)


def turns_lane(channel_id: int) -> str:
    """Return the lane for the records of a channel's turns."""
    return f"turns {channel_id}"


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(one) for one in value.values())
    if isinstance(value, list | tuple):
        return sum(_size(one) for one in value)
    return 8


class CommitUnknownError(StorageAwayError):
    """The connection was lost during a COMMIT. `xid` is the number of the transaction."""

    def __init__(self, message: str, xid: int) -> None:
        super().__init__(message)
        self.xid = xid


class BatchRunner(Protocol):
    """Writes entries in one transaction. Its errors are StorageError."""

    async def run(self, entries: Sequence[WriteEntry], on_activity: OnActivity) -> None:
        """Write all entries; or write none and raise."""

    async def was_committed(self, xid: int) -> bool:
        """Return whether a transaction was committed, after CommitUnknownError."""

    def close(self) -> None: ...


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
        loop = asyncio.get_running_loop()
        self._is_virtual = isinstance(loop, VirtualLoop)
        self._now_s = loop_clock()
        self._outside_work: Callable[[], AbstractContextManager[None]] = (
            loop.still if isinstance(loop, VirtualLoop) else nullcontext
        )
        """Stops virtual time while the database is awaited."""
        breaker.on_outage = self._begin_outage

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
        self._append(entries, 0)
        with self._outside_work():
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
        self._append([entry], linger_s)

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
        with self._outside_work():
            while len(self):
                await self._breaker.wait_until_back()
                with suppress(StorageAwayError):
                    await self.flush()

    def _append(self, entries: Sequence[WriteEntry], linger_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiting.extend(entries)
        if self._task is None:
            self._task = loop.create_task(self._run(), name="group commit")
        if not linger_s:
            self._hurry.set()
        elif self._linger is None or self._linger.when() > self._now_s() + linger_s:
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
            if self._breaker.is_away:
                await self._breaker.wait_until_back()
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
        left_s = self._began_s + INTERVAL_SECONDS - self._now_s()
        if left_s > 0 and not self._is_virtual:
            await asyncio.sleep(left_s)
        self._began_s = self._now_s()

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
                self._breaker.note_failure(error)
                return
            except StorageAwayError as error:
                self._take_back([entry for rest in (part, *parts) for entry in rest])
                self._breaker.note_failure(error)
                return
            except StorageError as error:
                self._breaker.note_failure(error)
                if len(part) == 1:
                    _refuse(part[0], error)
                parts.extendleft([entry] for entry in reversed(part) if len(part) > 1)
            else:
                _settle(part)
        self._under_way = []

    async def _transaction(self, entries: list[WriteEntry]) -> None:
        """Run a transaction. If it hangs, release the callers and keep waiting for its outcome."""
        began_s = self._now_s()
        with self._outside_work():
            task = asyncio.create_task(self._runner.run(entries, self._breaker.note_activity))
            try:
                await self._breaker.watch(task)
                await asyncio.wait({task})
            finally:
                task.cancel()
                self._breaker.meter.on_call("commit", self._now_s() - began_s)
        task.result()

    async def _clear_up_doubt(self) -> None:
        """Ask the database whether an unanswered COMMIT took effect."""
        while self._doubt is not None:
            xid, entries = self._doubt
            try:
                was_committed = await self._breaker.answer(self._runner.was_committed(xid))
            except StorageError as error:
                self._breaker.begin_outage(str(error))
                await self._breaker.wait_until_back()
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


def _refuse(entry: WriteEntry, error: StorageError) -> None:
    if entry.done is None:
        log.error("an entry could not be stored: %s", error)
    else:
        entry.fail(error)


def _error(wait: asyncio.Future[None]) -> StorageError | None:
    error = None if wait.cancelled() else wait.exception()
    return error if isinstance(error, StorageError) else None


class KeptWrites:
    """The rules for a writer's queue during an outage. `waiting` is that queue, oldest first.

    No caller waits for what is kept. If there is too much, the oldest entries are dropped, and the
    log says so once for each outage.
    """

    def __init__(self, waiting: deque[WriteEntry], breaker: DatabaseCircuitBreaker) -> None:
        self._waiting = waiting
        self._breaker = breaker
        self._characters = 0
        self._dropped = 0

    def begin_outage(self, running: Sequence[WriteEntry]) -> None:
        """Release all callers that wait for the queue, or for a running transaction."""
        self._dropped = 0
        self._release(running)
        self.keep_all()

    def keep_all(self) -> None:
        """Keep the whole queue. The entries of a failed transaction are back at its front."""
        self._release(self._waiting)
        self._characters = sum(entry.size for entry in self._waiting)
        self._drop_oldest()

    def keep(self, newest: Sequence[WriteEntry]) -> None:
        """Keep entries that were added to the end of the queue."""
        self._release(newest)
        self._characters += sum(entry.size for entry in newest)
        self._drop_oldest()

    def _release(self, entries: Sequence[WriteEntry]) -> None:
        error = self._breaker.error()
        for entry in entries:
            entry.fail(error)
            entry.done = None

    def _drop_oldest(self) -> None:
        before = self._dropped
        while len(self._waiting) > MOST_KEPT or self._characters > MOST_KEPT_CHARACTERS:
            self._characters -= self._waiting.popleft().size
            self._dropped += 1
        if self._dropped and not before:
            log.error("the database is away for so long that the oldest entries are forgotten")
