"""Leases on shards that are kept in memory and expire by the loop's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

from oshaberi.bot.coordination.shard_shares import FleetView, ProcessRank

LEASE_S = 8.0


@dataclass
class LeaseStore:
    """What all processes share. It stands in for Redis."""

    leases: dict[int, tuple[str, float]] = field(default_factory=dict)
    processes: dict[str, float] = field(default_factory=dict)
    pauses: dict[str, tuple[str, float]] = field(default_factory=dict)
    holders: dict[int, str] = field(default_factory=dict)
    shard_count: int = 0
    since: float | None = None
    is_away: bool = False

    def forget(self) -> None:
        """As after a restart without a disk."""
        for kept in (self.leases, self.processes, self.pauses, self.holders):
            kept.clear()
        self.shard_count, self.since = 0, None


class MemoryLeases:
    """The leases of one process. Unless it is `awake`, nothing answers: it hangs."""

    lease_s = LEASE_S

    def __init__(self, store: LeaseStore, name: str) -> None:
        self.store = store
        self.name = name
        self.awake = asyncio.Event()
        self.awake.set()

    async def agree(self, shard_count: int) -> int:
        await self._ask()
        self.store.shard_count = self.store.shard_count or shard_count
        return self.store.shard_count

    async def beat(self, shard_count: int) -> FleetView:
        now = await self._ask()
        store = self.store
        store.since = now if store.since is None else store.since
        for name in [name for name, until in store.processes.items() if until <= now]:
            del store.processes[name]
        store.processes[self.name] = now + LEASE_S
        store.shard_count = store.shard_count or shard_count
        place = ProcessRank(list(store.processes).index(self.name), len(store.processes))
        return FleetView(place, store.shard_count, now - store.since >= LEASE_S)

    async def leave(self) -> int:
        await self._ask()
        self.store.processes.pop(self.name, None)
        return len(self.store.processes)

    async def renew(self, held: Collection[int]) -> frozenset[int]:
        now = await self._ask()
        return frozenset(shard for shard in held if not self._renewed(shard, now))

    def _renewed(self, shard_id: int, now: float) -> bool:
        owner, until = self.store.leases.get(shard_id, ("", 0.0))
        if until > now and owner != self.name:
            return False
        if self.store.holders.get(shard_id, self.name) != self.name:
            return False
        self.store.leases[shard_id] = (self.name, now + LEASE_S)
        return True

    async def free(self, shard_count: int) -> tuple[int, ...]:
        now = await self._ask()
        leases = self.store.leases
        return tuple(n for n in range(shard_count) if leases.get(n, ("", 0.0))[1] <= now)

    async def take(self, shard_id: int) -> bool:
        now = await self._ask()
        if self.store.leases.get(shard_id, ("", 0.0))[1] > now:
            return False
        self.store.leases[shard_id] = (self.name, now + LEASE_S)
        self.store.holders[shard_id] = self.name
        return True

    async def give_back(self, shard_id: int) -> None:
        await self._ask()
        if self.store.leases.get(shard_id, ("", 0.0))[0] == self.name:
            del self.store.leases[shard_id]

    async def begin_pause(self, name: str, seconds: float) -> bool:
        now = await self._ask()
        if self.store.pauses.get(name, ("", 0.0))[1] > now:
            return False
        self.store.pauses[name] = (self.name, now + seconds)
        return True

    async def is_paused(self, name: str) -> bool:
        now = await self._ask()
        return self.store.pauses.get(name, ("", 0.0))[1] > now

    async def prolong_pause(self, name: str, seconds: float) -> bool:
        now = await self._ask()
        owner, until = self.store.pauses.get(name, ("", 0.0))
        if owner != self.name or until <= now:
            return False
        self.store.pauses[name] = (self.name, now + seconds)
        return True

    async def _ask(self) -> float:
        await self.awake.wait()
        if self.store.is_away:
            raise OSError("Redis: away")
        return asyncio.get_running_loop().time()
