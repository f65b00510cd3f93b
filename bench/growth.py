"""L7: what a character costs in longer and longer texts. If that is linear, it stays the same.

Short texts are measured several at a time, each copy with strings of its own, so that noise and
cold caches weigh on all sizes alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bench.engines import MakeEngine, cut, play
from bench.shapes import Shape
from bench.timing import Job, best_in_turns

LIMIT = 1.15
DEGREES = (0, 1, 2, 3)
WAYS = ("tokens", "whole")
_HOPELESS = 3.0
_NANO = 1e9


@dataclass(frozen=True, slots=True)
class Plan:
    """The limit holds between the sizes `base` and `compared`; others are for the eye."""

    sizes: tuple[int, ...] = (30_000, 60_000, 120_000, 240_000, 1_000_000)
    base: int = 30_000
    compared: int = 240_000
    rounds: int = 2
    retries: int = 6


@dataclass(frozen=True, slots=True)
class Growth:
    """Nanoseconds per character, by size."""

    shape: str
    degree: int
    way: str
    cost_ns: dict[int, float]
    ratio: float

    @property
    def flagged(self) -> bool:
        return self.ratio > LIMIT


def measure(make: MakeEngine, name: str, shape: Shape, degree: int, way: str, plan: Plan) -> Growth:
    """A little over the limit it is measured again: noise only adds, so the best of more counts."""
    jobs = {size: _job(make, degree, way, shape, size, plan.compared) for size in plan.sizes}
    best = _per_character(jobs, plan.sizes, plan)
    ends = (plan.base, plan.compared)
    for _ in range(plan.retries):
        if not LIMIT < best[plan.compared] / best[plan.base] < _HOPELESS:
            break
        again = _per_character(jobs, ends, plan)
        best |= {size: min(best[size], again[size]) for size in ends}
    return Growth(name, degree, way, best, best[plan.compared] / best[plan.base])


def run(
    make: MakeEngine, shapes: Mapping[str, Shape], degrees: Sequence[int], plan: Plan
) -> Iterator[Growth]:
    for name, shape in shapes.items():
        for degree in degrees:
            for way in WAYS:
                yield measure(make, name, shape, degree, way, plan)


def _per_character(jobs: Mapping[int, Job], sizes: Sequence[int], plan: Plan) -> dict[int, float]:
    best = best_in_turns([jobs[size] for size in sizes], plan.rounds)
    return {
        size: seconds * _NANO / (size * _copies(size, plan.compared))
        for size, seconds in zip(sizes, best, strict=True)
    }


def _copies(size: int, compared: int) -> int:
    return max(compared // size // 2, 1)


def _job(make: MakeEngine, degree: int, way: str, shape: Shape, size: int, compared: int) -> Job:
    text = shape.of(size)
    streams = [cut(text) if way == "tokens" else [text] for _ in range(_copies(size, compared))]
    return partial(_play, make, degree, streams)


def _play(make: MakeEngine, degree: int, streams: list[list[str]]) -> None:
    for stream in streams:
        play(make, degree, stream)
