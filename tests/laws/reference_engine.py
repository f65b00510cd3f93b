"""A tiny engine that keeps the laws on tame text: each line a message, each block a message.

It proves that the checks pass on good output, and is what the mutants are planted in.
"""

from __future__ import annotations

import re

from oshaberi.errors import EngineClosedError
from oshaberi.events import Boundary, Event, Message, Thought, Withheld
from oshaberi.text.config import TextConfig

from .expected_atoms import utf16

_OPENING = "<think>"
_CLOSING = "</think>"
_RULE = re.compile(r"-{3,}|\*{3,}|_{3,}|={3,}|>")


class LineEngine:
    """Sends a line when its newline is there, a fenced block when it closes."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = config.max_single_message_length
        self._text = ""
        self._at = 0
        self._segment = 0
        self._closed = False

    def feed(self, text: str) -> list[Event]:
        if self._closed:
            raise EngineClosedError("fed after the end")
        self._text += text
        events: list[Event] = []
        while (end := self._next_end()) is not None:
            events += self._send(end, "newline")
        return events

    def finish(self) -> list[Event]:
        if self._closed:
            return []
        self._closed = True
        return self._send(len(self._text), "final")

    def _next_end(self) -> int | None:
        if self._text.startswith("```", self._at):
            close = self._text.find("\n```\n", self._at)
            return None if close < 0 else close + 5
        if self._text.startswith(_OPENING, self._at):
            close = self._text.find(_CLOSING, self._at)
            return None if close < 0 else close + len(_CLOSING)
        newline = self._text.find("\n", self._at)
        return None if newline < 0 else newline + 1

    def _send(self, end: int, boundary: Boundary) -> list[Event]:
        span = (self._at, end)
        self._at = end
        raw = self._text[span[0] : end]
        text = raw.strip()
        if not text:
            return []
        if text.startswith(_OPENING):
            return [Thought(text.removeprefix(_OPENING).removesuffix(_CLOSING))]
        self._segment += 1
        if _RULE.fullmatch(text):
            return [Withheld(text, "rule", self._segment, span)]
        if text.startswith("```") and not text.endswith("\n```"):
            text += "\n```"
        parts = self._code_parts(text) if text.startswith("```") else self._parts(text)
        return [Message(part, boundary, segment=self._segment, span=span) for part in parts]

    def _parts(self, text: str) -> list[str]:
        parts = []
        while utf16(text) > self._limit:
            cut = text.rfind(" ", 0, self._limit // 2)
            cut = cut if cut > 0 else self._limit // 2
            parts.append(text[:cut].strip())
            text = text[cut:].strip()
        return [*parts, text]

    def _code_parts(self, text: str) -> list[str]:
        fence, *lines, _ = text.split("\n")
        parts, part = [], fence
        for line in lines:
            if utf16(part) + utf16(line) + 5 > self._limit and part != fence:
                parts.append(part + "\n```")
                part = fence
            part += "\n" + line
        return [*parts, part + "\n```"]
