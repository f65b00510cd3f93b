"""An event loop with scaled time: discord.py's own sleeps get short.

Unlike virtual time it never jumps, because sockets need real time. Only the time that the loop
spends waiting is multiplied, and never beyond the next timer. Working time is not scaled, so that
no timeout interrupts an answer on a busy machine.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _HastySelector(selectors.DefaultSelector):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self._scale = scale
        self.gained = 0.0
        """By how many seconds the waiting is ahead of the real time."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        began = time.monotonic()
        ready = super().select(None if timeout is None else timeout / self._scale)
        took = time.monotonic() - began
        counted = took * self._scale
        self.gained += (counted if timeout is None else min(counted, max(timeout, 0.0))) - took
        return ready


class ScaledLoop(asyncio.SelectorEventLoop):
    """A loop where a second of waiting takes `1 / scale` seconds."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self._hasty = _HastySelector(scale)
        self._started_at = time.monotonic()
        super().__init__(self._hasty)

    def time(self) -> float:
        return time.monotonic() - self._started_at + self._hasty.gained


def scale_of(loop: asyncio.AbstractEventLoop) -> float:
    return loop.scale if isinstance(loop, ScaledLoop) else 1.0


def run_scaled(main: Coroutine[Any, Any, T], scale: float) -> T:
    """Run like `asyncio.run`, `scale` times faster."""
    with asyncio.Runner(loop_factory=lambda: ScaledLoop(scale)) as runner:
        return runner.run(main)
