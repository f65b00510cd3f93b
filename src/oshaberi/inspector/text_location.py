"""Finds a message's words in the stretch of visible text that it was made of."""

from __future__ import annotations

import re

from oshaberi.events import Span

_WORD = re.compile(r"\S+")
_FAR = 400
"""A word that is this much further on is another one."""


def located(text: str, within: str, span: Span, start: int) -> Span | None:
    """Find `text` in `within[span]` from `start` on: as it is, or word by word.

    Words may have changed (a name became a mention): the span of those found is returned, else
    None.
    """
    at = within.find(text, start, span[1])
    if at >= 0:
        return at, at + len(text)
    first, end = -1, start
    low = within.lower() if len(within.lower()) == len(within) else within
    for word in _WORD.findall(text.lower()):
        at = low.find(word, end, min(span[1], end + _FAR))
        if at >= 0:
            first, end = (at if first < 0 else first), at + len(word)
    return (first, end) if first >= 0 else None


def trimmed(text: str, span: Span) -> Span:
    """Return the span without the white space at its ends."""
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
