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

_CORRECTED_SECONDS = 0.0005
"""How long the wall clock is trusted."""


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
        selector.on_turn = self._jump
        self._idle = self._ahead = self._correct_at = 0.0
        self._corrected()
        super().__init__(selector)

    def time(self) -> float:
        now = time.monotonic() - self._ahead
        return now if now < self._correct_at else self._corrected()

    def _corrected(self) -> float:
        """Take back what others had of the processor."""
        now = timing.clock() + self._idle
        self._ahead = time.monotonic() - now
        self._correct_at = now + _CORRECTED_SECONDS
        return now

    def _jump(self, seconds: float) -> None:
        self._idle += seconds
        self._ahead -= seconds
        self._correct_at += seconds


def run_in_processor_time(main: Coroutine[Any, Any, T]) -> T:
    """Run like `asyncio.run`."""
    with asyncio.Runner(loop_factory=ProcessorLoop) as runner:
        return runner.run(main)
