"""An event loop whose clock runs faster than the wall: discord.py's own sleeps get short.

Unlike virtual time it never jumps: sockets need real time, and get it, only less per second.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _HastySelector(selectors.DefaultSelector):
    scale: float

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / self.scale)


class ScaledLoop(asyncio.SelectorEventLoop):
    """A second of its time takes `1 / scale` seconds."""

    def __init__(self, scale: float) -> None:
        selector = _HastySelector()
        selector.scale = scale
        self.scale = scale
        self._started_at = time.monotonic()
        super().__init__(selector)

    def time(self) -> float:
        return (time.monotonic() - self._started_at) * self.scale


def scale_of(loop: asyncio.AbstractEventLoop) -> float:
    return loop.scale if isinstance(loop, ScaledLoop) else 1.0


def run_scaled(main: Coroutine[Any, Any, T], scale: float) -> T:
    """Like `asyncio.run`, `scale` times faster."""
    with asyncio.Runner(loop_factory=lambda: ScaledLoop(scale)) as runner:
        return runner.run(main)
