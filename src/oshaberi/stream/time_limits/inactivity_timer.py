"""The inactivity timer: runs only while a chunk is awaited (spec 04 O4).

A chunk costs it nothing: the loop's timer is set again only when it fires too early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from oshaberi.delivery.pacing.loop_clock import loop_clock


class InactivityTimer:
    """Calls `on_expiry` after so long without a touch or a chunk. `overdue` confirms it."""

    def __init__(
        self, timeout_ms: int, last_chunk_at: Callable[[], float], on_expiry: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = loop_clock()
        self._seconds = timeout_ms / 1000
        self._last_chunk_at = last_chunk_at
        self._on_expiry = on_expiry
        self._touched_at = self._piece_at = self._now()
        self._running = False
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._running = True
        self.touch()
        if self._handle is None:
            self._arm()

    def touch(self) -> None:
        """Note a sign of life of the model."""
        self._touched_at = self._piece_at = self._now()

    def extend(self) -> None:
        """Start the time again, although the model has sent nothing."""
        self._touched_at = self._now()

    def silent_s(self) -> float:
        """Return for how long the model has sent nothing; 0 while nothing is awaited from it."""
        if not self._running:
            return 0.0
        return max(0.0, self._now() - max(self._piece_at, self._last_chunk_at()))

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
        if self._now() >= self._deadline:
            return True
        if self._handle is None:
            self._arm()
        return False

    @property
    def _deadline(self) -> float:
        return max(self._touched_at, self._last_chunk_at()) + self._seconds

    def _arm(self) -> None:
        self._handle = self._loop.call_at(self._deadline, self._fire)

    def _fire(self) -> None:
        self._handle = None
        if self.overdue:
            self._on_expiry()
