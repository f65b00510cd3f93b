"""Computes how many shards each process should have, and which it takes or gives up. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


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
