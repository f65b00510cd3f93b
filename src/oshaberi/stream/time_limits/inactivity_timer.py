"""The inactivity timer: runs only while a chunk is awaited (spec 04 O4).

A touch is only an assignment; the loop's timer is set again only when it fires too early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class InactivityTimer:
    """Calls `on_expiry` after so long without a touch. `overdue` confirms it."""

    def __init__(self, timeout_ms: int, on_expiry: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = timeout_ms / 1000
        self._on_expiry = on_expiry
        self.touched_at = self._loop.time()
        """When the last sign of life came. Who has the time at hand sets it."""
        self._running = False
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._running = True
        self.touch()
        if self._handle is None:
            self._arm()

    def touch(self) -> None:
        self.touched_at = self._loop.time()

    def stop(self) -> None:
        self._running = False
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    @property
    def overdue(self) -> bool:
        """Tell whether the time is over. If not, the timer is set again."""
        if not self._running:
            return False
        if self._loop.time() >= self.touched_at + self._seconds:
            return True
        if self._handle is None:
            self._arm()
        return False

    def _arm(self) -> None:
        self._handle = self._loop.call_at(self.touched_at + self._seconds, self._fire)

    def _fire(self) -> None:
        self._handle = None
        if self.overdue:
            self._on_expiry()
