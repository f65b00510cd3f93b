"""Cuts off text that a provider repeats at the start of a chunk (spec 05, re-emission).

It depends on chunks, so it comes before the engine, and only if it is asked for.
"""

from __future__ import annotations


class Reemission:
    """Remembers the end of the text so far."""

    def __init__(self, min_chars: int, tail_chars: int) -> None:
        self._min = min_chars
        self._most = tail_chars
        self._tail = ""

    def fresh(self, chunk: str) -> str:
        """Return the part of the chunk that is new."""
        rest = chunk[self._repeated(chunk) :]
        self._tail = (self._tail + rest)[-self._most :]
        return rest

    def _repeated(self, chunk: str) -> int:
        length = overlap(self._tail, chunk) if len(chunk) >= self._min else 0
        return length if length >= self._min else 0


def overlap(tail: str, chunk: str) -> int:
    """Return the length of the longest suffix of `tail` that `chunk` starts with. Linear time."""
    size = min(len(tail), len(chunk))
    if size == 0:
        return 0
    borders = _borders(chunk[:size])
    matched = 0
    for letter in tail[-size:]:
        if matched == size:
            matched = borders[matched - 1]
        while matched and chunk[matched] != letter:
            matched = borders[matched - 1]
        if chunk[matched] == letter:
            matched += 1
    return matched


def _borders(text: str) -> list[int]:
    """Return, for each prefix, the length of its longest proper suffix that is also a prefix."""
    borders = [0] * len(text)
    matched = 0
    for at in range(1, len(text)):
        while matched and text[matched] != text[at]:
            matched = borders[matched - 1]
        if text[matched] == text[at]:
            matched += 1
        borders[at] = matched
    return borders
