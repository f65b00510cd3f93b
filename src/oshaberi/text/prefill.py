"""Spec 06 S6: a prefill that the model may echo stands at the head of the text exactly once.

It sits in front of everything else, so that what the prefill opens (a fence, a quote) is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_THOUGHT = re.compile(
    r"\s*<([\w.-]{1,32}:)?(?:think|thinking|reasoning)\b[^<>\n]*>.*?"
    r"</([\w.-]{1,32}:)?(?:think|thinking|reasoning)\s*>",
    re.IGNORECASE | re.DOTALL,
)
_THOUGHT_BEGINS = re.compile(
    r"\s*<(?:[\w.-]{0,32}:?)?(?:$|(?:think|thinking|reasoning)\b)", re.IGNORECASE
)


class Prefill:
    """Compares the first visible text with the prefill; the result does not depend on chunks."""

    def __init__(self, shown: str, echoes: Iterable[str], visible: bool) -> None:
        self._shown = shown if visible else ""
        self._echoes = [echo.strip() for echo in echoes if echo.strip()]
        self._buffer = ""
        self._done = False

    def feed(self, text: str) -> str:
        if self._done:
            return text
        self._buffer += text
        return self._decide(final=False)

    def finish(self) -> str:
        return "" if self._done else self._decide(final=True)

    def _decide(self, final: bool) -> str:
        thoughts = self._leading_thoughts(final)
        if thoughts is None:
            return ""
        head, body = self._buffer[:thoughts], self._buffer[thoughts:]
        begun = body.lstrip()
        if not begun:
            return self._release(head + body, "") if final else ""
        for echo in self._echoes:
            if begun.startswith(echo):
                return self._release(head + self._shown, begun[len(echo) :])
        if any(echo.startswith(begun) for echo in self._echoes):
            return self._release(head + self._shown, "") if final else ""
        return self._release(head + self._shown, self._seam(body) + body)

    def _leading_thoughts(self, final: bool) -> int | None:
        """Where the thoughts that come first end; None while one of them is still open."""
        end = 0
        while found := _THOUGHT.match(self._buffer, end):
            end = found.end()
        if not final and _THOUGHT_BEGINS.match(self._buffer, end):
            rest = self._buffer[end:].lstrip()
            if not any(echo.startswith(rest[:1]) for echo in self._echoes):
                return None
        return end

    def _seam(self, body: str) -> str:
        glued = self._shown[-1:].isalpha() and body[:1].isalpha() and body[:1].isupper()
        return " " if glued else ""

    def _release(self, head: str, rest: str) -> str:
        self._done, self._buffer = True, ""
        return head + rest
