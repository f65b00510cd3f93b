"""Notices when a model begins to say something that people will read.

Thoughts are not read, and a tag that may begin them is waited for. A marker of silence never comes
this far. It matters where nobody asked: then the typing indicator waits for the first words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from oshaberi.events import Event, Message
from oshaberi.stream.stream_context import StreamTextEngine

LONGEST_TAG = 40
"""`<mm:think>` and its like are shorter; a longer text that begins with `<` is read."""


class FirstWordsEngine:
    """A text engine that calls `on_words` once, when it is fed the first visible words."""

    def __init__(self, engine: StreamTextEngine, on_words: Callable[[], None]) -> None:
        self._engine = engine
        self._on_words: Callable[[], None] | None = on_words
        self._begun = ""

    @property
    def captures(self) -> bool:
        return self._engine.captures

    def feed(self, text: str) -> Sequence[Event]:
        if self._on_words is None:
            return self._engine.feed(text)
        captured = self._engine.captures
        events = self._engine.feed(text)
        if self._engine.captures:
            self._begun = ""
        else:
            self._look_at(text.rpartition(">")[2] if captured else text)
        return events

    def _look_at(self, text: str) -> None:
        """Look at text outside captured blocks."""
        self._begun = (self._begun + text).lstrip()
        if self._begun.startswith("<"):
            _tag, closed, rest = self._begun.rpartition(">")
            is_begun = bool(closed and rest.strip()) or len(self._begun) > LONGEST_TAG
        else:
            is_begun = bool(self._begun)
        if is_begun and self._on_words is not None:
            self._on_words()
            self._on_words = None

    def flush(
        self, reason: Literal["tool_call", "stop"], *, trim_incomplete_clause: bool = False
    ) -> Sequence[Event]:
        return self._engine.flush(reason, trim_incomplete_clause=trim_incomplete_clause)

    def finish(self) -> Sequence[Event]:
        return self._engine.finish()

    def discard(self) -> Sequence[Event]:
        return self._engine.discard()

    def preview(self) -> Sequence[Message]:
        return self._engine.preview()

    def carry(self) -> Any:
        return self._engine.carry()
