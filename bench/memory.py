"""What an engine weighs: idle, in the middle of a line, and after a long stream; and its making."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.engines import Engine, MakeEngine, cut
from bench.shapes import SHAPES
from bench.timing import best_in_turns

_DEGREE = 2
_MIDDLE = "The keeper wrote (every evening, whether or not"
_MICRO = 1e6


@dataclass(frozen=True, slots=True)
class Measured:
    what: str
    value: float
    unit: str


def run(make: MakeEngine, engines: int, streamed: int, rounds: int) -> list[Measured]:
    idle = _weight(partial(_many, make, engines, "")) / engines
    middle = _weight(partial(_many, make, engines, _MIDDLE)) / engines
    making = best_in_turns([partial(_many, make, engines, "")], rounds)[0] * _MICRO / engines
    found = [
        Measured("engine, idle", idle, "bytes"),
        Measured("engine, in the middle of a line", middle, "bytes"),
        Measured("making an engine", making, "µs"),
    ]
    for degree in (0, 2, 3):
        held = _weight(partial(_streamed, make, degree, streamed))
        what = f"held after {streamed} characters of prose, degree {degree}"
        found.append(Measured(what, held, "bytes"))
    return found


def _weight(build: Callable[[], object]) -> int:
    """Bytes that stay allocated for what `build` returns, caches of the first run aside."""
    build()
    gc.collect()
    tracemalloc.start()
    try:
        kept = build()
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        del kept
        return size
    finally:
        tracemalloc.stop()


def _many(make: MakeEngine, count: int, text: str) -> list[Engine]:
    engines = [make(_DEGREE) for _ in range(count)]
    for engine in engines:
        for token in cut(text):
            engine.feed(token)
    return engines


def _streamed(make: MakeEngine, degree: int, size: int) -> Engine:
    engine = make(degree)
    for token in cut(SHAPES["prose"].of(size)):
        engine.feed(token)
    return engine
