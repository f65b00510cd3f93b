"""Many streams in one process: what a token costs, how busy and how late the event loop gets.

A bare loop over the same provider is measured beside ours: the difference is what we cost.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import timing
from bench.processor_clock import run_in_processor_time
from bench.taps import NullSink, Tap, pump
from bench.timing import percentile
from bench.tokens import chunk_json
from oshaberi import TextConfig
from oshaberi.chunks import Chunk
from oshaberi.cli.commands.run import GARBAGE_THRESHOLDS
from oshaberi.stream import StopRegistry, StreamConfig, StreamContext, stream_to_sink

LAG_LIMIT_MS = 50.0
TOKENS_PER_SECOND = 50.0
_SCHEDSTAT = Path("/proc/thread-self/schedstat")
_BEAT_SECONDS = 0.005
_STEP = 1.25
_NEAR = 0.03
_SHARES = (1.0, 0.96, 0.92, 0.88)
_APART = 307
_MOST_MESSAGES = 1000
"""So that no stream ends before the measurement does."""


@dataclass(frozen=True, slots=True)
class Clock:
    """By which time a load is measured, and how it is run."""

    name: str
    run: Callable[[Coroutine[Any, Any, Any]], Any]


WALL = Clock("wall", asyncio.run)
PROCESSOR = Clock("processor", run_in_processor_time)
"""Other programs add no lag, and nobody waits while the loop is idle."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. `tries` bounds the search for the highest number of streams."""

    streams: int = 1000
    seconds: float = 5.0
    warm_up: float = 1.0
    tries: int = 9
    cost_streams: int = 100
    cost_tokens: int = 300
    rounds: int = 9


@dataclass(frozen=True, slots=True)
class Cost:
    """One token, in microseconds; the bare loop's share is not in `ours_us`."""

    degree: int
    bare_us: float
    ours_us: float
    json_us: float
    stream_us: float
    """To begin and end one stream."""
    stream_bytes: float
    """What one stream holds in the middle of its text."""

    @property
    def ratio(self) -> float:
        return self.ours_us / self.json_us


@dataclass(frozen=True, slots=True)
class Load:
    """So many streams at once. Degree None is the bare loop."""

    degree: int | None
    streams: int
    cpu_share: float
    waited_share: float
    """How long others had the processor when we wanted it: lag that is not ours."""
    lag_p50_ms: float
    lag_p99_ms: float
    tokens_per_second: float
    messages: int
    highest: bool = False
    """The most streams that were found to be in time."""
    clock: str = WALL.name

    @property
    def in_time(self) -> bool:
        return self.lag_p99_ms < LAG_LIMIT_MS


class Crowd:
    """Streams that all run at once; with degree None, bare loops over the same provider."""

    def __init__(self, degree: int | None, streams: int, chunks: Sequence[Chunk]) -> None:
        self.taps = [Tap(chunks, number * _APART) for number in range(streams)]
        self.sink = NullSink()
        self._stops = StopRegistry()
        if degree is None:
            self._tasks = [asyncio.create_task(_read(tap)) for tap in self.taps]
            return
        text = TextConfig(humanizer_degree=degree, max_flush_count=_MOST_MESSAGES)
        config = StreamConfig(text=text, render_tables=False)
        self._tasks = [
            asyncio.create_task(self._stream(tap, config, str(number)))
            for number, tap in enumerate(self.taps)
        ]

    @property
    def taken(self) -> int:
        return sum(tap.taken for tap in self.taps)

    async def leave(self) -> None:
        for number, task in enumerate(self._tasks):
            if not self._stops.request_stop(str(number), "bench"):
                task.cancel()
        await asyncio.wait(self._tasks)
        for task in self._tasks:
            if not task.cancelled():
                task.result()

    async def _stream(self, tap: Tap, config: StreamConfig, channel: str) -> None:
        context = StreamContext(channel=channel, stops=self._stops)
        result = await stream_to_sink(tap, None, config, context, self.sink)
        if result.stop_reason != "user_request":
            raise RuntimeError(f"a stream ended by itself: {result.status}, {result.data}")


async def _read(tap: Tap) -> None:
    async for raw in tap.open():
        tap.normalise(raw)


def run(plan: Plan, chunks: Sequence[Chunk]) -> tuple[list[Cost], list[Load]]:
    """The most streams are searched for in processor time, and then tried by the wall clock."""
    costs = [measure_cost(degree, plan, chunks) for degree in (1, 2)]
    loads = [measure_load(None, plan.streams, plan, chunks)]
    for degree in (1, 2):
        first = measure_load(degree, plan.streams, plan, chunks, PROCESSOR)
        best = _most_in_time(degree, plan, chunks, first)
        loads += [first, best] if best.in_time else [first]
        loads.append(_by_the_wall(degree, plan, chunks, best.streams))
    return costs, loads


# -- many at once ------------------------------------------------------------------------------


def measure_load(
    degree: int | None, streams: int, plan: Plan, chunks: Sequence[Chunk], clock: Clock = WALL
) -> Load:
    """As in the process of `oshaberi run`: with its thresholds, and nothing imported collected."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    try:
        found: Load = clock.run(_load(degree, streams, plan, chunks))
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
    return replace(found, clock=clock.name)


async def _load(degree: int | None, streams: int, plan: Plan, chunks: Sequence[Chunk]) -> Load:
    crowd = Crowd(degree, streams, chunks)
    pumping = asyncio.create_task(pump(crowd.taps, TOKENS_PER_SECOND))
    await asyncio.sleep(plan.warm_up)
    loop = asyncio.get_running_loop()
    began, taken, sent = loop.time(), crowd.taken, crowd.sink.sent
    busy, waited = time.process_time(), _waited()
    lags = await _lags(plan.seconds)
    busy, waited = time.process_time() - busy, _waited() - waited
    seconds = loop.time() - began
    taken, sent = crowd.taken - taken, crowd.sink.sent - sent
    pumping.cancel()
    await crowd.leave()
    return Load(
        degree,
        streams,
        cpu_share=busy / seconds,
        waited_share=waited / seconds,
        lag_p50_ms=percentile(lags, 0.5) * 1000,
        lag_p99_ms=percentile(lags, 0.99) * 1000,
        tokens_per_second=taken / seconds,
        messages=sent,
    )


def _waited() -> float:
    """Seconds this thread was ready to run and did not; zero where the system does not tell."""
    if not _SCHEDSTAT.exists():
        return 0.0
    return int(_SCHEDSTAT.read_text(encoding="ascii").split()[1]) / 1e9


async def _lags(seconds: float) -> list[float]:
    """How late a task is woken that wants to be woken often."""
    loop = asyncio.get_running_loop()
    end, lags = loop.time() + seconds, []
    while (now := loop.time()) < end:
        await asyncio.sleep(_BEAT_SECONDS)
        lags.append(loop.time() - now - _BEAT_SECONDS)
    return lags


def _most_in_time(degree: int, plan: Plan, chunks: Sequence[Chunk], first: Load) -> Load:
    """The load with the most streams that is still in time; the first one, if none was found."""
    tried = {first.streams: first}

    def in_time(streams: int) -> bool:
        tried[streams] = measure_load(degree, streams, plan, chunks, PROCESSOR)
        return tried[streams].in_time

    good = first.streams if first.in_time else 0
    guess = int(first.streams / max(first.cpu_share, 0.01))
    best = highest(in_time, good, guess, plan.tries)
    return replace(tried[best], highest=True) if best else first


def _by_the_wall(degree: int, plan: Plan, chunks: Sequence[Chunk], most: int) -> Load:
    """The same or a few streams less, by the wall clock: the first that is in time, or the last."""
    for share in _SHARES:
        load = measure_load(degree, int(most * share), plan, chunks, WALL)
        if load.in_time:
            return replace(load, highest=True)
    return load


def highest(passes: Callable[[int], bool], good: int, guess: int, tries: int) -> int:
    """The largest number that passed, in so many tries or until it is known well enough.

    `good` is a smaller number that passed before, or 0.
    """
    bad = 0
    for _ in range(tries):
        if passes(guess):
            good = guess
        else:
            bad = guess
        if bad and bad - good <= _NEAR * bad:
            break
        guess = (good + bad) // 2 if bad else int(good * _STEP)
    return good


# -- as fast as it goes ------------------------------------------------------------------------


def measure_cost(degree: int, plan: Plan, chunks: Sequence[Chunk]) -> Cost:
    """The best of several rounds, taken in turns; noise only adds."""
    tokens = plan.cost_streams * plan.cost_tokens
    bare, ours, whole, loads = [], [], [], []
    for _ in range(plan.rounds):
        bare.append(_rush(None, plan, chunks)[0])
        steady, ends = _rush(degree, plan, chunks)
        ours.append(steady)
        whole.append(ends)
        loads.append(_loads(plan, chunks))
    micro = 1e6 / tokens
    return Cost(
        degree,
        bare_us=min(bare) * micro,
        ours_us=(min(ours) - min(bare)) * micro,
        json_us=min(loads) * micro,
        stream_us=min(whole) * 1e6 / plan.cost_streams,
        stream_bytes=_weight(degree, plan, chunks) - _weight(None, plan, chunks),
    )


def _rush(degree: int | None, plan: Plan, chunks: Sequence[Chunk]) -> tuple[float, float]:
    """Processor seconds of the tokens, and of the beginning and the end."""
    with _no_collector():
        return asyncio.run(_rushed(degree, plan, chunks))


async def _rushed(degree: int | None, plan: Plan, chunks: Sequence[Chunk]) -> tuple[float, float]:
    first = timing.clock()
    crowd = Crowd(degree, plan.cost_streams, chunks)
    await _turns(8)
    began = timing.clock()
    await _let_all(crowd, plan.cost_tokens)
    ended = timing.clock()
    await crowd.leave()
    return ended - began, timing.clock() - ended + began - first


async def _let_all(crowd: Crowd, tokens: int) -> None:
    for _ in range(tokens):
        for tap in crowd.taps:
            tap.let()
        await _turns(2)
    if crowd.taken != tokens * len(crowd.taps):
        raise RuntimeError("not every token was read")


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def _loads(plan: Plan, chunks: Sequence[Chunk]) -> float:
    """`json.loads` of as many chunks of the same text."""
    size = plan.cost_tokens
    events = [chunk_json(chunk.content) for chunk in chunks[:size]]
    loads = json.loads
    with _no_collector():
        began = timing.clock()
        for _ in range(plan.cost_streams):
            for event in events:
                loads(event)
        return timing.clock() - began


def _weight(degree: int | None, plan: Plan, chunks: Sequence[Chunk]) -> float:
    """Bytes per stream in the middle of its text."""

    async def main() -> float:
        tracemalloc.start()
        try:
            crowd = Crowd(degree, plan.cost_streams, chunks)
            await _turns(8)
            await _let_all(crowd, plan.cost_tokens // 2)
            gc.collect()
            size, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        await crowd.leave()
        return size / plan.cost_streams

    return asyncio.run(main())


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
