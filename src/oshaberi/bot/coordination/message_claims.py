"""Message claims: which process answers a message, and which runs a channel's turn.

A single process decides this in memory, several do it through Redis (`redis_coordination`). The
bot also answers while Redis is down: if the shards are split over processes, Redis matters only
while two processes serve the same shard.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from oshaberi.bot.coordination.shard_shares import LeaseTable
from oshaberi.bot.turns.caches import KeyedLocks
from oshaberi.discord_io import BanGuard, RequestBudget
from oshaberi.stream.stops import StopRegistry

KEPT_CLAIMS = 4000


class InstanceLease(Protocol):
    """A lock or key that a process holds while it runs. It ends with the process."""

    async def is_gone(self, name: str) -> bool | None:
        """Return whether no process of that name runs any more; None if that is unknown."""


class ProcessCoordination(Protocol):
    """Keeps several processes from doing the same work."""

    @property
    def stops(self) -> StopRegistry: ...

    @property
    def leases(self) -> Mapping[str, InstanceLease]:
        """Return the leases by the store that holds them; empty for a single process."""

    @property
    def problem(self) -> str | None:
        """Return why Redis cannot be used now; None if it can, or if no Redis is needed."""

    async def claim(self, number: int) -> bool:
        """Return whether this process handles this message or command.

        Returns True to one process only, as long as that process lives.
        """

    def alone(self, what: str) -> AbstractAsyncContextManager[object]:
        """Lock a name, such as `turn:123` or `webhook:123`, for the block.

        With Redis it yields whether the lock is held. A single process locks in memory.
        """

    def share_requests(
        self, guard: BanGuard, budget: RequestBudget
    ) -> AbstractAsyncContextManager[None]:
        """Share Discord's limits between all processes, for the block."""

    def shard_leases(self) -> LeaseTable | None:
        """Return the leases on shards; None without Redis."""

    async def departure(self) -> None:
        """Wait until the end of a process whose claims this process had asked for."""


class SingleProcess:
    """Coordination for a single process: it only remembers its own claims."""

    def __init__(self) -> None:
        self.stops = StopRegistry()
        self.leases: Mapping[str, InstanceLease] = {}
        self.problem: str | None = None
        self._claimed: OrderedDict[int, None] = OrderedDict()
        self._keyed_locks: KeyedLocks[str] = KeyedLocks()

    async def claim(self, number: int) -> bool:
        if number in self._claimed:
            return False
        self._claimed[number] = None
        if len(self._claimed) > KEPT_CLAIMS:
            self._claimed.popitem(last=False)
        return True

    def give_up(self, number: int) -> None:
        """Give up a claim, so that the message or command can be claimed again."""
        self._claimed.pop(number, None)

    def alone(self, what: str) -> AbstractAsyncContextManager[object]:
        return self._keyed_locks.through(what)

    def share_requests(
        self, _guard: BanGuard, _budget: RequestBudget
    ) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def shard_leases(self) -> LeaseTable | None:
        return None

    async def departure(self) -> None:
        await asyncio.Event().wait()
