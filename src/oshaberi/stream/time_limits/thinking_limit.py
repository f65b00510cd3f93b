"""Ends a model that only thinks: `max_thinking_ms` without a visible character.

Thoughts, captured blocks and blank text count as thinking. It is looked at when a chunk comes: a
model that sends nothing at all is the inactivity timer's business, and a tool call that arrives in
pieces is no thinking.
"""

from __future__ import annotations

import asyncio

from oshaberi.chunks import ProviderError


class ThinkingLimit:
    """Of one stream."""

    def __init__(self, most_ms: int) -> None:
        self._most_s = most_ms / 1000
        self._time = asyncio.get_running_loop().time
        self._since: float | None = None

    def restart(self) -> None:
        """Something visible came, or the model was not let go on."""
        self._since = None

    def passed(self, text: str, captured: bool) -> bool:
        """Note a chunk and its text. `captured`: what comes now belongs to a captured block."""
        if not captured and text[text.rfind(">") + 1 :].strip():
            self._since = None
            return False
        if self._since is None:
            self._since = self._time()
            return False
        return self._time() - self._since >= self._most_s

    def error(self, provider: str) -> ProviderError:
        words = f"It thought for {self._most_s:g} seconds and said nothing."
        return ProviderError("timeout", words, provider=provider)
