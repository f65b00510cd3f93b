"""Which process answers a message, runs a channel's turn, and has which shards."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from oshaberi.bot.turns.caches import KeyedLocks
from oshaberi.discord_io import BanGuard, RequestBudget
from oshaberi.stream.stops import StopRegistry

# The fair share: how many shards each process should have, and which it takes or gives up.


@dataclass(frozen=True, slots=True)
class ProcessRank:
    """The rank of a process among the running ones: 0 is the one that joined first."""

    rank: int
    processes: int


def fair_share(place: ProcessRank, shard_count: int) -> int:
    """Return how many shards belong to a process. The shares add up to the number of shards."""
    share, rest = divmod(shard_count, max(1, place.processes))
    return share + (place.rank < rest)


def to_take(free: Iterable[int], held: Collection[int], share: int) -> tuple[int, ...]:
    """Return the free shards to take, so that the process has its share."""
    wanted = max(0, share - len(held))
    return tuple(sorted(free)[:wanted])


def to_give_up(held: Collection[int], starting: Collection[int], share: int) -> tuple[int, ...]:
    """Return the shards beyond the share, those that are not yet connected first."""
    excess = max(0, len(held) - share)
    by_cost = sorted(held, key=lambda shard: (shard not in starting, -shard))
    return tuple(by_cost[:excess])


# Leases on shards: who has which shard, and who may take one.


@dataclass(frozen=True, slots=True)
class FleetView:
    """What a beat returns: our place, the shard count in force, and whether leases can be trusted.

    A restarted Redis has forgotten all leases. Until the holders have had time to notice that, no
    process takes a shard that seems to be free.
    """

    place: ProcessRank
    shard_count: int
    remembers: bool


class LeaseTable(Protocol):
    """The store of the leases. Every method raises OSError if the store cannot be reached."""

    @property
    def lease_s(self) -> float: ...

    async def agree(self, shard_count: int) -> int:
        """Return the number of shards in force. The first process decides it."""

    async def beat(self, shard_count: int) -> FleetView:
        """Report that this process runs and wants its share."""

    async def leave(self) -> int:
        """Report that this process wants no more shards. Return how many other processes run."""

    async def renew(self, held: Collection[int]) -> frozenset[int]:
        """Renew leases. Return the shards whose lease was lost."""

    async def free(self, shard_count: int) -> tuple[int, ...]:
        """Return the shards without a lease."""

    async def take(self, shard_id: int) -> bool: ...

    async def give_back(self, shard_id: int) -> None: ...

    async def begin_pause(self, name: str, seconds: float) -> bool:
        """Begin a pause for all processes. Return False if one of that name is running."""

    async def is_paused(self, name: str) -> bool: ...

    async def prolong_pause(self, name: str, seconds: float) -> bool:
        """Let a pause end `seconds` from now. Return False if our pause is already over."""


# Which process answers a message, and which runs a channel's turn.
#
# A single process decides this in memory, several do it through Redis (`redis_coordination`). The
# bot also answers while Redis is down: if the shards are split over processes, Redis matters only
# while two processes serve the same shard.


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
        """Wait until a process ends whose claims this process had asked for."""


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
