"""Keeps this process's fair share of the shards, by leases (decision 20).

Once a second it renews the leases and computes the share. A new process gets shards from the others
one after another. When a process ends, the others take its shards. A process that could not renew
its leases in time sends nothing (`LeaseFence`), and ends if others have taken its shards.
`message_claims` decides which process answers a message.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, Protocol

from oshaberi.bot.coordination.reconnect_backoff import ReconnectBackoff
from oshaberi.bot.coordination.shard_shares import (
    FleetView,
    LeaseTable,
    fair_share,
    to_give_up,
    to_take,
)
from oshaberi.discord_io import LeaseFence
from oshaberi.errors import ConfigError, TemporaryError

# The queue for IDENTIFY, over all processes of the bot.
#
# Discord accepts one IDENTIFY in five seconds from each bucket of shards (`shard_id` modulo
# `max_concurrency`). A process that sends one too early loses its session, and after too many
# IDENTIFYs in a day Discord resets the token.


PAUSE_SECONDS = 5.2
"""Discord says 5. Ours is longer, because two IDENTIFYs may arrive closer together than they were
sent."""
POLL_SECONDS = 0.25


class IdentifyQueue:
    """The queue as one process sees it. In each bucket, one of its shards waits at a time."""

    def __init__(self, table: LeaseTable, max_concurrency: int) -> None:
        self._table = table
        self._max_concurrency = max(1, max_concurrency)
        self._waiting: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._reserved: dict[int, int] = {}
        """Bucket → the shard that may connect now."""

    def bucket(self, shard_id: int) -> int:
        return shard_id % self._max_concurrency

    async def reserve(self, shard_id: int) -> None:
        """Wait until the shard may connect. Connect only then, so that no open connection waits."""
        bucket = self.bucket(shard_id)
        async with self._waiting[bucket]:
            while not await self._table.begin_pause(f"identify:{bucket}", PAUSE_SECONDS):
                await asyncio.sleep(POLL_SECONDS)
            self._reserved[bucket] = shard_id

    async def confirm(self, shard_id: int) -> None:
        """Restart the pause, right before IDENTIFY is sent.

        Waits again if it is too late for that.
        """
        bucket = self.bucket(shard_id)
        if self._reserved.get(bucket) != shard_id or not await self._prolong(bucket):
            await self.reserve(shard_id)
        self._reserved.pop(bucket, None)

    async def _prolong(self, bucket: int) -> bool:
        return await self._table.prolong_pause(f"identify:{bucket}", PAUSE_SECONDS)

    async def may_move(self, shard_id: int) -> bool:
        """Return whether a connected shard may move to another process now.

        It may only when IDENTIFY is allowed, and one shard at a time, so that the process that
        takes the shard can connect it at once.
        """
        bucket = self.bucket(shard_id)
        if await self._table.is_paused(f"identify:{bucket}"):
            return False
        return await self._table.begin_pause(f"move:{bucket}", PAUSE_SECONDS)


log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
LEAVING_TICK_SECONDS = 0.2
MARGIN_SECONDS = 1.0
"""How long before the end of the leases the fence closes."""
MOST_SILENT_SECONDS = 30.0
"""How long a process with a closed fence waits for Redis. After that it ends, so that the service
manager starts it again."""
HANDOVER_SECONDS = 30.0
"""How long a process that ends may take to hand over its shards, one after another."""
AWAY_SECONDS = 2.0
"""A process that is shutting down does not wait for leases that it could not reach for this
long."""


class ShardHost(Protocol):
    """Connects shards to Discord. `start_shard` raises OSError if a later attempt may succeed."""

    async def start_shard(self, shard_id: int) -> None: ...

    async def stop_shard(self, shard_id: int) -> None: ...


def end_at_once(reason: str) -> NoReturn:
    """End as a crash would: the process sends and stores nothing more."""
    log.critical("this process ends at once: %s", reason)
    logging.shutdown()
    os._exit(os.EX_TEMPFAIL)


class ShardKeeper:
    """The shards of one process. `shard_count` 0: as many as Discord recommends."""

    def __init__(
        self,
        table: LeaseTable,
        fence: LeaseFence,
        shard_count: int = 0,
        on_expelled: Callable[[str], NoReturn] = end_at_once,
    ) -> None:
        self._table = table
        self._fence = fence
        self._wanted_count = shard_count
        self._on_expelled = on_expelled
        self._shard_count = 0
        self._share = 0
        self._held: set[int] = set()
        self._starting: dict[int, asyncio.Task[None]] = {}
        self._ready = asyncio.Event()
        self._again = asyncio.Event()
        self._moving = asyncio.Lock()
        self._is_leaving = False
        self._is_alone = False
        self._problem: str | None = "not begun"
        self._away_since: float | None = None
        self._trusts_leases_from = 0.0
        """Until then, a shard without a lease may belong to a process that could not renew its
        lease."""

    async def begin(self, host: ShardHost, recommended: int, max_concurrency: int) -> int:
        """Agree with the other processes on the number of shards, and return it."""
        wanted = self._wanted_count or recommended
        try:
            count = await self._table.agree(wanted)
        except OSError as error:
            raise TemporaryError(f"the shards cannot be shared: {error}") from None
        if self._wanted_count not in (0, count):
            raise ConfigError(
                f"shard_count: the other processes have {count}; "
                "end all of them before you change it"
            )
        self._host, self._shard_count = host, count
        self._queue = IdentifyQueue(self._table, max_concurrency)
        return count

    def get_ready(self) -> None:
        """Allow taking shards: recovery has finished the work of an earlier process."""
        self._ready.set()

    @property
    def held(self) -> frozenset[int]:
        return frozenset(self._held)

    def holds(self, shard_id: int) -> bool:
        """Return whether this process may serve the shard now."""
        return shard_id in self._held and self._fence.is_open

    def problem(self) -> str | None:
        """Return why this process does not have its share of the shards; None if it has it."""
        if self._problem is not None:
            return self._problem
        connected = len(self._held) - len(self._starting)
        if connected < self._share:
            return f"{connected} of {self._share} shards are connected"
        return None

    async def identify_turn(self, shard_id: int) -> None:
        """Wait for permission to send IDENTIFY. Raises OSError if the lease is lost first."""
        await self._queue.confirm(shard_id)
        if not self.holds(shard_id):
            raise OSError(f"shard {shard_id} is not ours any more")

    async def run(self) -> None:
        """Keep the share until cancelled."""
        await self._ready.wait()
        try:
            while True:
                async with self._moving:
                    await self._tick()
                with suppress(TimeoutError):
                    pause_s = LEAVING_TICK_SECONDS if self._is_leaving else TICK_SECONDS
                    await asyncio.wait_for(self._again.wait(), pause_s)
                self._again.clear()
        finally:
            for task in self._starting.values():
                task.cancel()

    async def leave(self, patience_s: float = HANDOVER_SECONDS) -> None:
        """Hand over all shards. The others take them while running answers end here."""
        self._is_leaving = True
        self._again.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self._held and self._away_s() < AWAY_SECONDS:
                    await asyncio.sleep(TICK_SECONDS / 10)
        async with self._moving:
            await asyncio.gather(*map(self._give_up, self.held))

    async def _tick(self) -> None:
        began_s = self._fence.now_s()
        for task in self._starting.values():
            if task.done():  # with an unexpected error
                task.result()
        try:
            lost = await self._table.renew(self.held)
            was_closed = not self._fence.is_open
            if lost and was_closed:
                self._on_expelled(
                    f"it was away too long, and others serve its shards {_list(lost)}"
                )
            view = await self._beat()
            if was_closed:
                # The others may have lost Redis too. Give them the time to renew their leases.
                self._trusts_leases_from = began_s + self._table.lease_s
            self._fence.close_at = began_s + self._table.lease_s - MARGIN_SECONDS
            await asyncio.gather(*map(self._lose, lost))
            await self._balance(view, began_s)
        except OSError as error:
            self._note_away(error)
        else:
            self._problem = self._away_since = None

    def _away_s(self) -> float:
        """Return for how many seconds the leases have not been reached."""
        return 0.0 if self._away_since is None else self._fence.now_s() - self._away_since

    async def _beat(self) -> FleetView | None:
        """Report to the table that this process is alive.

        Return the table's view; None when leaving.
        """
        if self._is_leaving:
            self._is_alone = not await self._table.leave()
            return None
        view = await self._table.beat(self._shard_count)
        if view.shard_count != self._shard_count:
            self._on_expelled(f"the other processes have shard_count = {view.shard_count}")
        self._is_alone = view.place.processes == 1
        return view

    def _note_away(self, error: OSError) -> None:
        if self._away_since is None:
            self._away_since = self._fence.now_s()
            log.warning("the leases on shards are not renewed: %s", error)
        self._problem = f"the leases on shards are not renewed: {error}"
        closed_at = self._fence.close_at
        if closed_at is not None and self._fence.now_s() - closed_at > MOST_SILENT_SECONDS:
            self._on_expelled(f"its leases could not be renewed for too long: {error}")

    async def _balance(self, view: FleetView | None, now_s: float) -> None:
        self._share = 0 if view is None else fair_share(view.place, self._shard_count)
        if view is not None and (not view.remembers or now_s < self._trusts_leases_from):
            return
        excess = to_give_up(self._held, self._starting, self._share)
        going = [shard_id for shard_id in excess if await self._may_go(shard_id)]
        # Together: the leases of the others must be renewed in time.
        await asyncio.gather(*map(self._give_up, going))
        if len(self._held) < self._share:
            free = await self._table.free(self._shard_count)
            for shard_id in to_take(free, self._held, self._share):
                if await self._table.take(shard_id):
                    self._hold(shard_id)

    async def _may_go(self, shard_id: int) -> bool:
        """Return whether a shard may be given up now: no faster than others can connect it."""
        if shard_id in self._starting or (self._is_leaving and self._is_alone):
            return True
        return await self._queue.may_move(shard_id)

    def _hold(self, shard_id: int) -> None:
        self._held.add(shard_id)
        task = asyncio.create_task(self._start(shard_id), name=f"shard {shard_id}")
        self._starting[shard_id] = task

    async def _start(self, shard_id: int) -> None:
        backoff = ReconnectBackoff()
        while True:
            try:
                await self._queue.reserve(shard_id)
                await self._host.start_shard(shard_id)
            except OSError as error:
                log.warning("shard %d is not connected: %s", shard_id, error)
                await asyncio.sleep(backoff.delay())
            else:
                log.info("shard %d of %d is served here", shard_id, self._shard_count)
                self._starting.pop(shard_id, None)
                return

    async def _lose(self, shard_id: int) -> None:
        log.warning("the lease on shard %d is lost", shard_id)
        await self._drop(shard_id)

    async def _give_up(self, shard_id: int) -> None:
        """Stop serving a shard. Only then may others take it."""
        await self._drop(shard_id)
        with suppress(OSError):  # then the lease expires
            await self._table.give_back(shard_id)
        log.info("shard %d of %d is given up", shard_id, self._shard_count)

    async def _drop(self, shard_id: int) -> None:
        self._held.discard(shard_id)
        starting = self._starting.pop(shard_id, None)
        if starting is not None:
            starting.cancel()
            await asyncio.wait({starting})
        await self._host.stop_shard(shard_id)


def _list(shard_ids: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(shard_ids)))
