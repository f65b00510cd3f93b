"""How long one step of the event loop computes at most, and how much memory a block of code takes.

A step is measured in processor time of its own thread, not by the clock on the wall, so a busy
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
    watch = LoopWatch()
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
    assert watch.longest_s <= longest_s, f"{watch.longest_s:.3f} s in one step: {watch.step}"


@contextmanager
def computing_at_most(seconds: float = LONGEST_STEP_S) -> Iterator[None]:
    """Fail if this block, which is no step of a loop of its own, computes for longer."""
    gc.collect()
    gc.disable()
    began = time.thread_time()
    try:
        yield
        took = time.thread_time() - began
    finally:
        gc.enable()
    assert took <= seconds, f"{took:.3f} s of processor time"


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
