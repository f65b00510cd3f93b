"""How long one step of the event loop computes at most, and how much memory a block of code takes.

A step is measured in processor time of its own thread, not by the clock on the wall. Where several
programs share a core even that is longer, so a known piece of work is measured beside it: a busy
machine does not make a test fail. The garbage collector is off meanwhile, because what it finds
belongs to other tests.
"""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

LONGEST_STEP_S = 0.1
"""While one step computes, nobody else is answered."""

KNOWN_WORK_S = 0.0027
"""How long `_known_work_s` takes on an idle core, of those on which the bounds were chosen."""
MOST_SLOWNESS = 3.0
"""However slow a core seems to be, more is not allowed for: what these tests look for takes ten or
a hundred times as long."""


def _known_work_s() -> float:
    began = time.thread_time()
    text = "".join(f"{number:x} " for number in range(6_000))
    counts: dict[str, int] = {}
    for word in text.split():
        counts[word[-2:]] = counts.get(word[-2:], 0) + len(word)
    sorted(counts.items(), key=lambda one: one[1])
    return time.thread_time() - began


class _Pace:
    """How much slower this core is than an idle one, before a block and after it."""

    def __init__(self) -> None:
        self._before_s = _known_work_s()

    def allows(self, seconds: float) -> float:
        slowness = max(self._before_s, _known_work_s()) / KNOWN_WORK_S
        return seconds * min(max(slowness, 1.0), MOST_SLOWNESS)


@dataclass
class LoopWatch:
    """The longest step so far, and which one it was."""

    longest_s: float = 0.0
    step: str = "none"
    steps: int = 0

    def note(self, seconds: float, handle: asyncio.Handle) -> None:
        self.steps += 1
        if seconds > self.longest_s:
            self.longest_s = seconds
            self.step = repr(getattr(getattr(handle, "_callback", None), "__self__", handle))[:300]


@contextmanager
def watched_loop(longest_s: float = LONGEST_STEP_S) -> Iterator[LoopWatch]:
    """Fail if a step of any event loop computes for longer than `longest_s` in this block."""
    watch, pace = LoopWatch(), _Pace()
    run_step = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        try:
            run_step(handle)
        finally:
            watch.note(time.thread_time() - began, handle)

    gc.collect()
    gc.disable()
    try:
        with patch.object(asyncio.Handle, "_run", timed):
            yield watch
    finally:
        gc.enable()
    assert watch.steps, "no event loop ran in this block"
    allowed_s = pace.allows(longest_s)
    assert watch.longest_s <= allowed_s, f"{watch.longest_s:.3f} s in one step: {watch.step}"


@contextmanager
def computing_at_most(seconds: float = LONGEST_STEP_S) -> Iterator[None]:
    """Fail if this block, which is no step of a loop of its own, computes for longer."""
    gc.collect()
    gc.disable()
    pace = _Pace()
    began = time.thread_time()
    try:
        yield
        took = time.thread_time() - began
    finally:
        gc.enable()
    assert took <= pace.allows(seconds), f"{took:.3f} s of processor time"


@contextmanager
def memory_at_most(megabytes: float) -> Iterator[None]:
    """Fail if Python allocates more than this at once in the block.

    Tracing makes everything several times slower: don't measure time in the same block.
    """
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before <= megabytes * 1e6, f"{(peak - before) / 1e6:.1f} MB"
