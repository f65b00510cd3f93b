"""An event loop whose clock counts this thread's processor time, and jumps over idle time.

What it measures is what an idle machine would show: while another program has the processor, the
clock stands still. Nothing outside the process may be waited for.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bench import timing

T = TypeVar("T")

_SUSPICIOUS_SECONDS = 0.0005
"""Somebody asks for the time more often than that, unless another program has the processor."""


class _NeverSleepingSelector(selectors.DefaultSelector):
    """Tells the loop how long it would have slept."""

    on_turn: Callable[[float], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.on_turn(max(timeout or 0, 0))
        return super().select(0)


class ProcessorLoop(asyncio.SelectorEventLoop):
    """Asking for processor time is slow, so the wall clock is read and corrected now and then."""

    def __init__(self) -> None:
        selector = _NeverSleepingSelector()
        selector.on_turn = self._turn
        self._idle = self._latest = self._ahead = 0.0
        self._corrected()
        super().__init__(selector)

    def time(self) -> float:
        now = time.monotonic() - self._ahead
        if now - self._latest > _SUSPICIOUS_SECONDS:
            return self._corrected()
        self._latest = now
        return now

    def _corrected(self) -> float:
        """Take back what others had of the processor."""
        self._latest = timing.clock() + self._idle
        self._ahead = time.monotonic() - self._latest
        return self._latest

    def _turn(self, slept: float) -> None:
        self._idle += slept
        self._corrected()


def run_in_processor_time(main: Coroutine[Any, Any, T]) -> T:
    """Run like `asyncio.run`."""
    with asyncio.Runner(loop_factory=ProcessorLoop) as runner:
        return runner.run(main)
