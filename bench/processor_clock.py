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


class _NeverSleepingSelector(selectors.DefaultSelector):
    """Tells the loop how long it would have slept."""

    on_turn: Callable[[float], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.on_turn(max(timeout or 0, 0))
        return super().select(0)


class ProcessorLoop(asyncio.SelectorEventLoop):
    """Asking the system for processor time takes as long as a token, so it is asked once a turn."""

    def __init__(self) -> None:
        selector = _NeverSleepingSelector()
        selector.on_turn = self._turn
        self._idle = 0.0
        self._ahead = 0.0
        self.correct()
        super().__init__(selector)

    def time(self) -> float:
        """Within a turn the clock of the wall counts; `correct` takes back what others had."""
        return time.monotonic() - self._ahead

    def correct(self) -> None:
        self._ahead = time.monotonic() - timing.clock() - self._idle

    def _turn(self, slept: float) -> None:
        self._idle += slept
        self.correct()


def run_in_processor_time(main: Coroutine[Any, Any, T]) -> T:
    """Run like `asyncio.run`."""
    with asyncio.Runner(loop_factory=ProcessorLoop) as runner:
        return runner.run(main)
