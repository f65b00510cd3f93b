"""Which process has which shards: its fair share of them, and the interface of the lease table.

`shard_keeper` keeps the share; `redis_leases` is the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol


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
