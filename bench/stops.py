"""How soon a stream is quiet after a stop, in real time, wherever the stop finds it (spec 04 O1).

Each stop has a stream of its own. Some time into the situation it is asked to stop; measured is
how long the result takes, when the provider was closed, and whether anything left too late.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.shapes import SHAPES
from bench.taps import NullSink, Tap
from bench.timing import percentile
from oshaberi import TextConfig
from oshaberi.chunks import Chunk
from oshaberi.delivery.sink import Post, Sent, WireState
from oshaberi.stream import StopRegistry, StreamConfig, StreamContext, stream_to_sink

LIMIT_MS = 50.0
_CHANNEL = "channel"
_SLOW_SECONDS = 0.3
_FOR_EVER = 3600.0
_BURST = SHAPES["prose"].of(30_000)
"""A long answer in one piece. What the engine has not read when the stop comes, it reads then."""
_LINES = "one line\nand another\nand a third\nand what comes"

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@dataclass(slots=True)
class Watch:
    """What happened in one stream, and when."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[float] = field(default_factory=list)
    answered_at: float = 0.0
    closed_at: float = 0.0


class Speaker(Tap):
    """Says one text, then nothing."""

    def __init__(self, text: str, watch: Watch) -> None:
        super().__init__([Chunk("text", text)])
        self._watch = watch

    async def open(self, _request: Any = None) -> AsyncIterator[Chunk]:
        try:
            yield self._chunks[0]
            await asyncio.sleep(_FOR_EVER)
        finally:
            self._watch.closed_at = _now()


class Silent(Speaker):
    """The situation is its silence."""

    async def open(self, _request: Any = None) -> AsyncIterator[Chunk]:
        async for chunk in super().open():
            yield chunk
            self._watch.reached.set()


class Bursting(Speaker):
    """The situation is that its text is being read."""

    async def open(self, _request: Any = None) -> AsyncIterator[Chunk]:
        self._watch.reached.set()
        async for chunk in super().open():
            yield chunk


class Quick(NullSink):
    """Answers at once, and keeps the times."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    async def send(self, post: Post, wire: WireState) -> Sent:
        self._watch.requests.append(_now())
        sent = await self._answer(post, wire)
        self._watch.answered_at = _now()
        return sent

    async def typing(self, ms: int | None) -> None:
        self._watch.requests.append(_now())
        if ms is not None:
            self._watch.reached.set()

    async def _answer(self, post: Post, wire: WireState) -> Sent:
        return await super().send(post, wire)


class Slow(Quick):
    """A request is long on its way."""

    async def _answer(self, post: Post, wire: WireState) -> Sent:
        self._watch.reached.set()
        await asyncio.sleep(_SLOW_SECONDS)
        return await super()._answer(post, wire)


class Limited(Quick):
    """A request waits for a rate limit before it leaves."""

    async def _answer(self, post: Post, wire: WireState) -> Sent:
        wire.hold()
        self._watch.reached.set()
        await asyncio.sleep(_FOR_EVER)
        return await super()._answer(post, wire)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a stop finds a stream. `within` is how far into it the stop may come."""

    name: str
    text: str
    degree: int
    speaker: Callable[[str, Watch], Speaker] = Speaker
    sink: Callable[[Watch], Quick] = Quick
    within: float = 0.02
    abreast: int = 1
    """How many streams are stopped side by side, where one takes long."""
    from_answer: bool = False
    """A request on the wire is awaited: the time counts from its answer."""


SITUATIONS = (
    Situation("typing", _LINES, degree=2),
    Situation("send", _LINES, degree=1, sink=Slow, within=0.2, abreast=20, from_answer=True),
    Situation("silence", "half a line", degree=1, speaker=Silent),
    Situation("burst", _BURST, degree=0, speaker=Bursting, within=0.005),
    Situation("rate limit", _LINES, degree=1, sink=Limited),
)


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop, in seconds."""

    result: float
    closed: float
    late: int


@dataclass(frozen=True, slots=True)
class Stops:
    """All stops of one situation, in milliseconds."""

    situation: str
    count: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    closed_max_ms: float
    late_requests: int
    """Begun more than the limit after the stop; with a request on the wire, at all after it."""

    @property
    def flagged(self) -> bool:
        slow = max(self.max_ms, self.closed_max_ms) >= LIMIT_MS
        return slow or self.late_requests > 0


def run(count: int, run: Run = asyncio.run) -> list[Stops]:
    return [measure(situation, count, run) for situation in SITUATIONS]


def measure(situation: Situation, count: int, run: Run = asyncio.run) -> Stops:
    found: list[Stop] = run(_measure(situation, count))
    results = [stop.result * 1000 for stop in found]
    return Stops(
        situation.name,
        count,
        percentile(results, 0.5),
        percentile(results, 0.99),
        max(results),
        max(stop.closed for stop in found) * 1000,
        sum(stop.late for stop in found),
    )


async def _measure(situation: Situation, count: int) -> list[Stop]:
    chance = random.Random(situation.name)
    delays = [chance.uniform(0, situation.within) for _ in range(count)]
    found: list[Stop] = []
    for some in _waves(delays, situation.abreast):
        found += await asyncio.gather(*(_stop(situation, delay) for delay in some))
    return found


def _waves(delays: Sequence[float], size: int) -> Iterator[Sequence[float]]:
    for start in range(0, len(delays), size):
        yield delays[start : start + size]


async def _stop(situation: Situation, delay: float) -> Stop:
    watch, stops = Watch(), StopRegistry()
    text = TextConfig(humanizer_degree=situation.degree)
    config = StreamConfig(text=text, min_random_pause_ms=0, max_random_pause_ms=0)
    context = StreamContext(channel=_CHANNEL, stops=stops)
    speaker, sink = situation.speaker(situation.text, watch), situation.sink(watch)
    task = asyncio.create_task(stream_to_sink(speaker, None, config, context, sink))
    await watch.reached.wait()
    await asyncio.sleep(delay)
    asked = _now()
    if not stops.request_stop(_CHANNEL, "bench"):
        raise RuntimeError(f"{situation.name}: the stream was over before the stop")
    result = await task
    if result.stop_reason != "user_request":
        raise RuntimeError(f"{situation.name}: {result.status}, {result.data}")
    return _judged(situation, watch, asked, _now())


def _judged(situation: Situation, watch: Watch, asked: float, ended: float) -> Stop:
    since = watch.answered_at if situation.from_answer else asked
    last = asked if situation.from_answer else asked + LIMIT_MS / 1000
    late = sum(begun > last for begun in watch.requests)
    return Stop(ended - since, watch.closed_at - asked, late)


def _now() -> float:
    return asyncio.get_running_loop().time()
