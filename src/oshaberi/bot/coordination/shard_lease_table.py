"""The interface to the leases on shards: who has which shard, and who may take one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from oshaberi.bot.coordination.fair_shares import ProcessRank


@dataclass(frozen=True, slots=True)
class FleetView:
    """What a beat returns: our place, the shard count in force, and whether leases can be trusted.

    A Redis that was restarted has forgotten all leases. Until their holders have had the time to
    notice, nobody takes a shard that seems to be free.
    """

    place: ProcessRank
    shard_count: int
    remembers: bool


class LeaseTable(Protocol):
    """Where the leases are kept. Every method raises OSError if that cannot be reached."""

    @property
    def lease_s(self) -> float: ...

    async def agree(self, shard_count: int) -> int:
        """Return the number of shards in force. The first process decides on it."""

    async def beat(self, shard_count: int) -> FleetView:
        """Say that this process is there and wants its share."""

    async def leave(self) -> int:
        """Say that this process wants no shards any more. Return how many others are there."""

    async def renew(self, held: Collection[int]) -> frozenset[int]:
        """Renew leases. Return the shards whose lease is lost."""

    async def free(self, shard_count: int) -> tuple[int, ...]:
        """Return the shards that nobody has a lease on."""

    async def take(self, shard_id: int) -> bool: ...

    async def give_back(self, shard_id: int) -> None: ...

    async def begin_pause(self, name: str, seconds: float) -> bool:
        """Begin a pause for all processes. Return False if one of that name is on."""

    async def is_paused(self, name: str) -> bool: ...

    async def prolong_pause(self, name: str, seconds: float) -> bool:
        """Let a pause end `seconds` from now. Return False if ours is over."""
