"""Shares of shards, and who has which: several processes with leases in memory, virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import NoReturn

import pytest

from oshaberi.bot.coordination.shard_keeper import (
    MOST_SILENT_SECONDS,
    PAUSE_SECONDS,
    IdentifyQueue,
    ShardKeeper,
    end_at_once,
)
from oshaberi.bot.coordination.shard_shares import ProcessRank, fair_share, to_give_up, to_take
from oshaberi.discord_io import LeaseFence
from oshaberi.errors import ConfigError, TemporaryError
from oshaberi.virtual_time import run_virtual
from tests.bot.memory_leases import LEASE_S, LeaseStore, MemoryLeases

SHARDS = 8
SERVED_AGAIN_S = 15.0


class ExpelledError(Exception):
    """The process has ended."""


class Fleet:
    """The processes of one bot, and what each shard went through."""

    def __init__(self, max_concurrency: int = SHARDS) -> None:
        self.store = LeaseStore()
        self.max_concurrency = max_concurrency
        self.processes: dict[str, FleetProcess] = {}
        self.identified: list[tuple[float, int]] = []
        self.overlaps: list[int] = []

    def started(self, process: FleetProcess, shard_id: int) -> None:
        for other in self.processes.values():
            if other is not process and shard_id in other.connected and other.fence.is_open:
                self.overlaps.append(shard_id)
        self.identified.append((_now(), shard_id))

    def served(self) -> dict[int, str]:
        """Who serves which shard: connected, and allowed to speak."""
        return {
            shard: name
            for name, process in self.processes.items()
            for shard in process.connected
            if process.fence.is_open
        }

    def shares(self) -> list[int]:
        return sorted(len(process.connected) for process in self.processes.values())

    async def until(self, happens: Callable[[], bool], within_s: float = 120.0) -> float:
        """How long it took."""
        began = _now()
        async with asyncio.timeout(within_s):
            while not happens():
                await asyncio.sleep(0.1)
        return _now() - began

    async def all_served(self, within_s: float = 120.0) -> float:
        return await self.until(lambda: len(self.served()) == SHARDS, within_s)

    async def balanced(self, *shares: int) -> float:
        return await self.until(lambda: self.shares() == sorted(shares))

    async def join(self, name: str, shard_count: int = 0) -> FleetProcess:
        process = FleetProcess(self, name, shard_count)
        await process.keeper.begin(process, SHARDS, self.max_concurrency)
        process.keeper.get_ready()
        self.processes[name] = process
        process.begin()
        return process


class FleetProcess:
    """One process, without Discord: it notes which shards it serves."""

    def __init__(self, fleet: Fleet, name: str, shard_count: int = 0) -> None:
        self.fleet = fleet
        self.name = name
        self.fence = LeaseFence(_now)
        self.table = MemoryLeases(fleet.store, name)
        self.keeper = ShardKeeper(self.table, self.fence, shard_count, self.expelled)
        self.connected: set[int] = set()
        self.reason = ""
        self.refusals = 0
        self.mistake: Exception | None = None
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._running = asyncio.create_task(self.keeper.run())

    async def running(self) -> None:
        assert self._running is not None
        await self._running

    def expelled(self, reason: str) -> NoReturn:
        self.reason = reason
        self.fleet.processes.pop(self.name, None)
        raise ExpelledError

    async def start_shard(self, shard_id: int) -> None:
        await asyncio.sleep(0.2)
        if self.mistake is not None:
            raise self.mistake
        if self.refusals:
            self.refusals -= 1
            raise OSError("Discord is away")
        await self.keeper.identify_turn(shard_id)
        self.fleet.started(self, shard_id)
        self.connected.add(shard_id)

    async def stop_shard(self, shard_id: int) -> None:
        self.connected.discard(shard_id)

    async def kill(self) -> None:
        self.connected.clear()
        self.fleet.processes.pop(self.name, None)
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait({self._running})

    async def end(self) -> None:
        await self.keeper.leave()
        await self.kill()


def _now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def fleet_of(*names: str, max_concurrency: int = SHARDS) -> AsyncIterator[Fleet]:
    fleet = Fleet(max_concurrency)
    for name in names:
        await fleet.join(name)
    try:
        yield fleet
    finally:
        for process in tuple(fleet.processes.values()):
            await process.kill()
    assert fleet.overlaps == []


def play(
    scenario: Callable[[Fleet], Awaitable[None]], *names: str, max_concurrency: int = SHARDS
) -> None:
    async def main() -> None:
        async with fleet_of(*names, max_concurrency=max_concurrency) as fleet:
            await scenario(fleet)

    run_virtual(main())


# -- shares ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shard_count", [1, 2, 7, 8, 1000])
@pytest.mark.parametrize("processes", [1, 2, 3, 4, 9])
def test_shares_are_all_shards_and_nearly_equal(processes: int, shard_count: int) -> None:
    shares = [fair_share(ProcessRank(rank, processes), shard_count) for rank in range(processes)]
    assert sum(shares) == shard_count
    assert max(shares) - min(shares) <= 1


def test_free_shards_fill_the_share() -> None:
    assert to_take([5, 3, 4], {0}, 3) == (3, 4)
    assert to_take([5], {0, 1}, 2) == ()


def test_what_is_not_connected_is_given_up_first() -> None:
    assert to_give_up({0, 1, 2, 3}, {1}, 2) == (1, 3)
    assert to_give_up({0, 1}, set(), 2) == ()


# -- joining, leaving, dying -----------------------------------------------------------------------


def test_one_process_alone_has_all_shards() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(SHARDS)
        assert fleet.processes["a"].keeper.problem() is None

    play(scenario, "a")


@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_processes_share_the_shards(names: str) -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(*[SHARDS // len(names)] * len(names))
        assert len(fleet.served()) == SHARDS
        # Who started first has asked for all; what it gave up was not connected yet.
        assert len(fleet.identified) == SHARDS

    play(scenario, *names)


def test_there_may_be_more_processes_than_shards() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(*[1] * SHARDS, 0)
        assert all(process.keeper.problem() is None for process in fleet.processes.values())

    play(scenario, *"abcdefghi")


def test_a_new_process_gets_shards_one_after_another() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(SHARDS)
        await fleet.join("b")
        least = SHARDS
        while fleet.shares() != [4, 4]:
            least = min(least, len(fleet.served()))
            await asyncio.sleep(0.1)
        assert least == SHARDS - 1  # all others were served all the time

    play(scenario, "a", max_concurrency=1)


def test_the_shards_of_a_killed_process_are_served_again() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(2, 2, 2, 2)
        await fleet.processes["b"].kill()
        assert len(fleet.served()) == 6
        assert await fleet.all_served(within_s=SERVED_AGAIN_S) > 5.0
        await fleet.balanced(2, 3, 3)

    play(scenario, *"abcd")


def test_also_if_discord_takes_one_identify_at_a_time() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(2, 2, 2, 2)
        await fleet.processes["b"].kill()
        await fleet.all_served(within_s=SERVED_AGAIN_S)

    play(scenario, *"abcd", max_concurrency=1)


def test_a_process_that_ends_hands_its_shards_over() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(4, 4)
        ending = asyncio.create_task(fleet.processes["a"].end())
        least = SHARDS
        while not ending.done():
            least = min(least, len(fleet.served()))
            await asyncio.sleep(0.1)
        await fleet.all_served(within_s=3.0)
        assert least >= SHARDS - 1
        await fleet.balanced(SHARDS)

    play(scenario, "a", "b", max_concurrency=1)


def test_the_last_process_ends_at_once() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(SHARDS)
        began = _now()
        await fleet.processes["a"].end()
        assert _now() - began < 2.0
        assert fleet.store.leases == {}

    play(scenario, "a", max_concurrency=1)


def test_all_can_end_together() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(4, 4)
        began = _now()
        await asyncio.gather(*(process.end() for process in tuple(fleet.processes.values())))
        assert _now() - began < 2.0
        assert fleet.store.leases == {}

    play(scenario, "a", "b", max_concurrency=1)


def test_a_mistake_in_a_start_ends_the_process() -> None:
    async def scenario(fleet: Fleet) -> None:
        process = await fleet.join("a")
        process.mistake = ValueError("a mistake")
        with pytest.raises(ValueError, match="a mistake"):
            await process.running()

    play(scenario)


def test_a_rolling_restart_of_all() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(2, 2, 2, 2)
        for name in "abcd":
            await fleet.processes[name].end()
            await fleet.all_served()
            await fleet.join(f"{name} again")
            await fleet.balanced(2, 2, 2, 2)
        await fleet.all_served()

    play(scenario, *"abcd")


def test_a_shard_that_cannot_be_connected_is_tried_again() -> None:
    async def scenario(fleet: Fleet) -> None:
        process = await fleet.join("a")
        process.refusals = 3
        await asyncio.sleep(LEASE_S + 2)
        assert process.keeper.problem() == "5 of 8 shards are connected"
        await fleet.balanced(SHARDS)

    play(scenario)


# -- lost leases -----------------------------------------------------------------------------------


def test_a_process_that_hung_is_silent_and_ends() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(4, 4)
        hung = fleet.processes["a"]
        hung.table.awake.clear()
        await fleet.until(lambda: sum(name == "b" for name in fleet.served().values()) == SHARDS)
        assert len(hung.connected) == 4  # Discord still sends it everything
        assert not hung.fence.is_open
        passing = asyncio.create_task(hung.fence.passed())
        hung.table.awake.set()
        await fleet.until(lambda: bool(hung.reason))
        assert "others serve its shards" in hung.reason
        assert not passing.done()
        passing.cancel()
        await hung.kill()

    play(scenario, "a", "b")


def test_who_hung_and_lost_nothing_goes_on() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(SHARDS)
        process = fleet.processes["a"]
        process.table.awake.clear()
        await asyncio.sleep(LEASE_S * 2)
        assert not process.fence.is_open
        process.table.awake.set()
        await process.fence.passed()
        assert (fleet.shares(), process.reason) == ([SHARDS], "")

    play(scenario, "a")


def test_all_wait_while_redis_is_away() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(4, 4)
        before = fleet.served()
        fleet.store.is_away = True
        await asyncio.sleep(LEASE_S * 2)
        assert fleet.served() == {}
        problem = fleet.processes["a"].keeper.problem()
        assert problem == "the leases on shards are not renewed: Redis: away"
        fleet.store.is_away = False
        await fleet.all_served(within_s=2.0)
        assert fleet.served() == before

    play(scenario, "a", "b")


def test_nobody_waits_for_redis_for_ever() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(SHARDS)
        process = fleet.processes["a"]
        fleet.store.is_away = True
        await asyncio.sleep(MOST_SILENT_SECONDS)
        assert process.reason == ""
        await fleet.until(lambda: bool(process.reason), LEASE_S + 2)
        assert "could not be renewed" in process.reason
        await process.kill()

    play(scenario, "a")


def test_a_redis_that_forgot_everything_changes_nothing() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(4, 4)
        before = fleet.served()
        fleet.store.forget()
        third = await fleet.join("c")
        await asyncio.sleep(LEASE_S - 2)
        assert fleet.served() == before
        assert not third.connected  # it takes nothing that only seems to be free
        await fleet.balanced(2, 3, 3)

    play(scenario, "a", "b")


def test_a_single_lost_lease_costs_its_shard_alone() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.balanced(4, 4)
        first, second = fleet.processes["a"], fleet.processes["b"]
        lost = min(first.connected)
        fleet.store.leases[lost] = ("b", _now() + 2.0)
        fleet.store.holders[lost] = "b"
        await fleet.until(lambda: lost not in first.connected, 2.0)
        assert (first.reason, len(first.connected), len(second.connected)) == ("", 3, 4)
        await fleet.balanced(4, 4)

    play(scenario, "a", "b")


def test_a_shard_is_not_identified_after_its_lease_was_lost() -> None:
    async def scenario(fleet: Fleet) -> None:
        process = await fleet.join("a")
        with pytest.raises(OSError, match="not ours"):
            await process.keeper.identify_turn(0)

    play(scenario)


# -- the number of shards --------------------------------------------------------------------------


def test_the_first_process_decides_on_the_number_of_shards() -> None:
    async def scenario(fleet: Fleet) -> None:
        second = FleetProcess(fleet, "b")
        assert await second.keeper.begin(second, SHARDS * 2, 1) == SHARDS
        third = FleetProcess(fleet, "c", shard_count=SHARDS * 2)
        with pytest.raises(ConfigError, match="other processes have 8"):
            await third.keeper.begin(third, SHARDS, 1)

    play(scenario, "a")


def test_without_redis_a_process_does_not_start() -> None:
    async def scenario(fleet: Fleet) -> None:
        fleet.store.is_away = True
        with pytest.raises(TemporaryError, match="cannot be shared"):
            await fleet.join("a")

    play(scenario)


# -- the queue for IDENTIFY ------------------------------------------------------------------------


def test_one_identify_of_a_bucket_at_a_time() -> None:
    async def scenario(fleet: Fleet) -> None:
        await fleet.all_served()
        for bucket in range(2):
            times = [at for at, shard in fleet.identified if shard % 2 == bucket]
            assert len(times) == SHARDS // 2
            assert min(b - a for a, b in pairwise(times)) >= 5.0
        # Buckets do not wait for each other.
        assert fleet.identified[1][0] - fleet.identified[0][0] < 1.0

    play(scenario, "a", "b", "c", max_concurrency=2)


def test_a_turn_is_for_one_identify() -> None:
    async def scenario(_fleet: Fleet) -> None:
        queue = IdentifyQueue(MemoryLeases(LeaseStore(), "a"), 1)
        times = []
        await queue.reserve(0)
        await asyncio.sleep(1.0)  # the connection is made
        for shard in (0, 0, 1):  # the second time because the session was refused
            await queue.confirm(shard)
            times.append(_now())
        assert [round(b - a, 1) for a, b in pairwise(times)] == pytest.approx(
            [PAUSE_SECONDS] * 2, abs=0.3
        )

    play(scenario)


def test_who_was_too_slow_waits_for_another_turn() -> None:
    async def scenario(_fleet: Fleet) -> None:
        store = LeaseStore()
        slow, other = (IdentifyQueue(MemoryLeases(store, name), 1) for name in "ab")
        await slow.reserve(0)
        await asyncio.sleep(PAUSE_SECONDS + 0.1)
        await other.reserve(1)
        await other.confirm(1)
        began = _now()
        await slow.confirm(0)
        assert _now() - began >= PAUSE_SECONDS

    play(scenario)


def test_a_process_ends_as_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses: list[int] = []
    monkeypatch.setattr("os._exit", statuses.append)
    monkeypatch.setattr("logging.shutdown", lambda: None)
    end_at_once("for a test")
    assert statuses == [75]
