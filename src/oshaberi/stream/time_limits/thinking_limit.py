"""Ends a model that only thinks: `max_thinking_ms` without a visible character.

Thoughts, captured blocks and blank text count as thinking. It is checked when a chunk comes: a
model that sends nothing at all is left to the inactivity timer, and a tool call that arrives in
pieces is not thinking.
"""

from __future__ import annotations

import asyncio

from oshaberi.chunks import ProviderError
from oshaberi.errors import Sentence


class ThinkingLimit:
    """The limit of one stream."""

    def __init__(self, most_ms: int) -> None:
        self._most_s = most_ms / 1000
        self._time = asyncio.get_running_loop().time
        self._since: float | None = None

    def restart(self) -> None:
        """Restart: something visible came, or the model had to wait."""
        self._since = None

    def passed(self, text: str, captured: bool) -> bool:
        """Note a chunk's text. Return whether the limit has passed.

        `captured`: the text belongs to a captured block.
        """
        if not captured and (text[-1:].isalnum() or text[text.rfind(">") + 1 :].strip()):
            self._since = None
            return False
        if self._since is None:
            self._since = self._time()
            return False
        return self._time() - self._since >= self._most_s

    def error(self, provider: str) -> ProviderError:
        words = Sentence(
            "It thought for {seconds:g} seconds and said nothing.", seconds=self._most_s
        )
        return ProviderError("timeout", words, provider=provider)
