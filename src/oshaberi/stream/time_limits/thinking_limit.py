"""Ends a model that only thinks: `max_thinking_ms` without a visible character.

Thoughts, captured blocks and blank text count as thinking. It is checked when a chunk comes: a
model that sends nothing at all is left to the inactivity timer, and a tool call that arrives in
pieces is not thinking.
"""

from __future__ import annotations

from oshaberi.chunks import ProviderError
from oshaberi.errors import Sentence


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
