"""The time limits of a stream: no chunk for too long, or thoughts without a word for too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from oshaberi.chunks import ProviderError
from oshaberi.delivery.waits import loop_clock
from oshaberi.errors import Sentence

# The timer of a stream: ends it after a silence, or when the answer takes too long in all.
#
# It runs only while a chunk is awaited (spec 04 O4). A chunk costs it nothing: the loop's timer
# is set again only when it fires too early.


class InactivityTimer:
    """Calls `on_expiry` after so long without a touch or a chunk, and when `most_ms` are over.

    `overdue` confirms it, `error` says if it was the latter.
    """

    def __init__(
        self,
        timeout_ms: int,
        most_ms: int,
        last_chunk_at: Callable[[], float],
        on_expiry: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = loop_clock()
        self._seconds = timeout_ms / 1000
        self._most_s = most_ms / 1000
        self._left_s = self._most_s
        """How long it may still run. Every pause takes off what has passed."""
        self._running_since = self._now()
        self._last_chunk_at = last_chunk_at
        self._on_expiry = on_expiry
        self._touched_at = self._piece_at = self._now()
        self._running = False
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if not self._running:
            self._running_since = self._now()
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
        if self._running:
            self._left_s -= self._now() - self._running_since
        self._running = False
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    @property
    def overdue(self) -> bool:
        """Return whether the time is over. If not, the timer is set again."""
        if not self._running:
            return False
        if self._now() >= self._deadline:
            return True
        if self._handle is None:
            self._arm()
        return False

    def error(self, provider: str) -> ProviderError | None:
        """Return the error if the whole answer took too long; None if it was a silence."""
        if self._now() < self._end:
            return None
        words = Sentence("The answer was not complete after {seconds:g} s.", seconds=self._most_s)
        return ProviderError("timeout", words, "time_budget", provider=provider)

    @property
    def _deadline(self) -> float:
        silent = max(self._touched_at, self._last_chunk_at()) + self._seconds
        return min(silent, self._end)

    @property
    def _end(self) -> float:
        return self._running_since + self._left_s

    def _arm(self) -> None:
        self._handle = self._loop.call_at(self._deadline, self._fire)

    def _fire(self) -> None:
        self._handle = None
        if self.overdue:
            self._on_expiry()


# Ends a model that only thinks: `max_thinking_ms` without a visible character.
#
# Thoughts, captured blocks and blank text count as thinking. It is checked when a chunk comes: a
# model that sends nothing at all is left to the inactivity timer, and a tool call that arrives in
# pieces is not thinking.


class ThinkingLimit:
    """The limit of one stream. Times are the loop's."""

    def __init__(self, most_ms: int) -> None:
        self._most_s = most_ms / 1000
        self._since: float | None = None

    def restart(self) -> None:
        """Restart: something visible came, or the model had to wait."""
        self._since = None

    def passed(self, now: float) -> bool:
        """Note a chunk without visible text. Return whether the limit has passed."""
        if self._since is None:
            self._since = now
        return now - self._since >= self._most_s

    def error(self, provider: str) -> ProviderError:
        words = Sentence("It thought for {seconds:g} s and said nothing.", seconds=self._most_s)
        return ProviderError("timeout", words, provider=provider)
