"""The bench of whole streams: its checks can fail. In virtual time there is only planted lag."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from bench.engines import text_engine
from bench.processor_clock import run_in_processor_time
from bench.report import cost_json, stop_json, stop_table, stream_tables
from bench.stops import SITUATIONS, Situation, Speaker, Stops, Watch
from bench.streams import Clock, Cost, Load
from bench.taps import Tap, markdown_chunks, pump

from bench import __main__ as command
from bench import stops, streams, timing
from oshaberi.chunks import Chunk
from oshaberi.virtual_time import VirtualLoop, run_virtual

_CHUNKS = [Chunk("text", token) for token in ("some", " wor", "ds i", "n a ", "line", ".\n")]
_PLAN = streams.Plan(
    streams=4, seconds=0.5, warm_up=0.1, tries=2, cost_streams=2, cost_tokens=12, rounds=1
)


_VIRTUAL = streams.Clock("virtual", run_virtual)


def _load(degree: int | None, clock: streams.Clock = _VIRTUAL) -> Load:
    return streams.measure_load(degree, 4, _PLAN, _CHUNKS, clock)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [None, 1, 2])
def test_streams_that_keep_up_are_in_time(degree: int | None) -> None:
    load = _load(degree)
    assert load.in_time
    assert load.lag_p99_ms == pytest.approx(0, abs=1e-6)
    assert load.tokens_per_second == pytest.approx(4 * 50, rel=0.05)
    assert load.waited_share >= 0
    assert (load.messages > 0) is (degree is not None)


def test_a_loop_that_is_held_up_is_late() -> None:
    async def held_up(main: Any) -> Any:
        task = asyncio.create_task(_jump())
        try:
            return await main
        finally:
            task.cancel()

    async def _jump() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        while True:
            await asyncio.sleep(0.01)
            loop._now += 0.06

    load = _load(1, streams.Clock("virtual", lambda main: run_virtual(held_up(main))))
    assert load.lag_p99_ms >= 50
    assert not load.in_time
    assert stream_tables([], [load]).splitlines()[-1].endswith("<<<")


def test_a_stream_that_ends_by_itself_is_not_measured() -> None:
    failing = [Chunk("error")]
    with pytest.raises(RuntimeError, match="ended by itself: error"):
        streams.measure_load(1, 2, _PLAN, failing, _VIRTUAL)


def test_in_processor_time_only_our_own_work_makes_us_late() -> None:
    async def main() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(3600)
        time.sleep(0.05)  # somebody else has the processor
        idle, began = loop.time() - began, loop.time()
        worked = timing.clock()
        while timing.clock() - worked < 0.02:
            pass
        return idle, loop.time() - began

    idle, busy = run_in_processor_time(main())
    assert 3600 <= idle < 3600.045
    assert 0.02 <= busy < 0.06


@pytest.mark.slow
def test_a_token_has_its_cost() -> None:
    cost = streams.measure_cost(1, _PLAN, _CHUNKS)
    assert cost.bare_us > 0
    assert cost.json_us > 0
    assert cost.stream_us > 0
    assert 1_000 < cost.stream_bytes < 1_000_000
    assert cost_json(cost)["ratio"] == pytest.approx(cost.ours_us / cost.json_us)


@pytest.mark.parametrize("guess", [100, 3000, 40_000])
@pytest.mark.parametrize("good", [0, 90])
def test_the_highest_number_is_found(guess: int, good: int) -> None:
    found = streams.highest(lambda number: number <= 3210, good, guess, tries=30)
    assert 3210 * 0.97 <= found <= 3210


def test_the_search_is_bounded() -> None:
    tried: list[int] = []

    def never(number: int) -> bool:
        tried.append(number)
        return False

    assert streams.highest(never, 0, 1000, tries=4) == 0
    assert tried == [1000, 500, 250, 125]
    assert streams.highest(never, 900, 1000, tries=2) == 900
    assert tried[4:] == [1000, 950]


def test_percentiles() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert timing.percentile(values, 0.5) == 51
    assert timing.percentile(values, 0.99) == 100
    assert timing.percentile([7.0], 0.99) == 7


def test_the_pump_gives_each_tap_its_rate() -> None:
    async def main() -> list[int]:
        taps = [Tap(_CHUNKS) for _ in range(3)]
        readers = [asyncio.create_task(_read(tap)) for tap in taps]
        pumping = asyncio.create_task(pump(taps, 10))
        await asyncio.sleep(2.01)
        for task in (pumping, *readers):
            task.cancel()
        await asyncio.wait([pumping, *readers])
        return [tap.taken for tap in taps]

    assert run_virtual(main()) == [20, 20, 20]


async def _read(tap: Tap) -> None:
    async for _ in tap.open():
        pass


def test_a_tap_begins_where_it_is_told() -> None:
    async def main() -> list[str]:
        tap = Tap(_CHUNKS, start=4)
        for _ in range(3):
            tap.let()
        stream = tap.open()
        return [(await anext(stream)).content for _ in range(3)]

    assert run_virtual(main()) == ["line", ".\n", "some"]


def test_the_text_is_real() -> None:
    assert len(markdown_chunks()) > 2_500


# -- stops -------------------------------------------------------------------------------------


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_a_stop_is_quick(situation: Situation) -> None:
    found = stops.measure(situation, 3, run_virtual)
    assert found.count == 3
    assert not found.flagged


class Stubborn(Speaker):
    """Takes its time to close."""

    async def open(self, _request: Any = None) -> AsyncIterator[Chunk]:
        try:
            async for chunk in super().open():
                yield chunk
                self._watch.reached.set()
        finally:
            await asyncio.sleep(0.1)
            self._watch.closed_at = asyncio.get_running_loop().time()


def test_a_slow_end_is_flagged() -> None:
    slow = Situation("slow", "half a line", degree=1, speaker=Stubborn)
    found = stops.measure(slow, 2, run_virtual)
    assert found.closed_max_ms == pytest.approx(100)
    assert found.flagged
    assert "<<<" in stop_table([found]).splitlines()[-1]


@pytest.mark.parametrize(
    ("from_answer", "requests", "late"),
    [(False, [0.9, 1.04], 0), (False, [0.9, 1.06], 1), (True, [0.9], 0), (True, [0.9, 1.01], 1)],
)
def test_requests_after_the_stop_are_late(
    from_answer: bool, requests: list[float], late: int
) -> None:
    watch = Watch(requests=requests, answered_at=1.2, closed_at=1.1)
    situation = Situation("any", "", degree=1, from_answer=from_answer)
    stop = stops._judged(situation, watch, asked=1.0, ended=1.3)
    assert stop.late == late
    assert stop.closed == pytest.approx(0.1)
    assert stop.result == pytest.approx(0.1 if from_answer else 0.3)


def test_a_late_request_is_flagged() -> None:
    assert Stops("any", 1, 1, 1, 1, 1, late_requests=1).flagged
    assert stop_json(Stops("any", 1, 1, 1, 1, 1, late_requests=0))["flagged"] is False


# -- the command -------------------------------------------------------------------------------


def _planted(in_time: Callable[[int], bool]) -> Callable[..., Load]:
    def measure(
        degree: int | None, count: int, _plan: object, _chunks: object, clock: Clock = streams.WALL
    ) -> Load:
        lag = 10.0 if in_time(count) else 90.0
        return Load(degree, count, 0.5, 0.1, 1.0, lag, 50.0 * count, 1, clock=clock.name)

    return measure


@pytest.mark.slow
def test_streams_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "measure_load", _planted(lambda count: count <= 1700))
    monkeypatch.setattr(streams, "measure_cost", lambda *_: Cost(1, 2.0, 6.0, 3.0, 400, 24_000))
    table, rows, _goals = command.bench("streams", text_engine, {}, command.QUICK)
    assert len(rows) == 2 + 1 + 2 * 3
    highest = [row["streams"] for row in rows if row.get("highest")]
    assert highest == [1687] * 4
    clocks = [(row["streams"], row["clock"]) for row in rows[2:]]
    assert clocks[1:4] == [(1000, "processor"), (1687, "processor"), (1687, "wall")]
    shown = [line.split() for line in table.splitlines() if line.startswith("1 ")]
    assert shown[0] == ["1", "2.00", "6.00", "3.00", "2.00", "400", "24.0"]
    assert shown[-2][-1] == shown[-1][-1] == "highest"


def test_a_lag_by_the_wall_clock_takes_fewer_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "measure_load", _planted(lambda count: count <= 950))
    assert streams._by_the_wall(1, _PLAN, _CHUNKS, 1000).streams == 920
    last = streams._by_the_wall(1, _PLAN, _CHUNKS, 2000)
    assert (last.streams, last.in_time, last.highest) == (1760, False, False)


@pytest.mark.slow
def test_stops_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count(1)
    monkeypatch.setattr(stops, "measure", lambda s, n, _run: _same(s.name, n, next(numbers)))
    table, rows, _goals = command.bench("stops", text_engine, {}, command.QUICK)
    assert [row["situation"] for row in rows] == [one.name for one in SITUATIONS]
    assert "typing             40    1.00    1.00    1.00       1.00     0" in table


def _same(name: str, count: int, ms: float) -> Stops:
    return Stops(name, count, ms, ms, ms, ms, late_requests=0)


def test_the_numbers_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    for part in command.PARTS:
        assert f"`{part}`" in page
