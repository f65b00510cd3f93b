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
        self.since: float | None = None
        """When the thinking began; None while something visible comes."""

    def restart(self) -> None:
        """Restart: something visible came, or the model had to wait."""
        self.since = None

    def passed(self, text: str, captured: bool, now: float) -> bool:
        """Note a chunk's text. Return whether the limit has passed.

        `captured`: the text belongs to a captured block.
        """
        if not captured and (text[-1:].isalnum() or text[text.rfind(">") + 1 :].strip()):
            self.since = None
            return False
        if self.since is None:
            self.since = now
            return False
        return now - self.since >= self._most_s

    def error(self, provider: str) -> ProviderError:
        words = Sentence(
            "It thought for {seconds:g} seconds and said nothing.", seconds=self._most_s
        )
        return ProviderError("timeout", words, provider=provider)
