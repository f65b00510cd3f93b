"""Finds the ranges of a text that must stay in one message (spec 07, "Kept whole")."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

import regex

from oshaberi.text.markers.closed_pair_scan import find_spans
from oshaberi.text.text_measure import extends, fits

_FENCE_RUN: Final = re.compile("`{3,}")


class ProtectedRanges:
    """The spans that no cut may enter: disjoint, each fits into a message."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self.spans = spans
        self._starts = [start for start, _ in spans]

    @classmethod
    def of(cls, text: str, limit: int, hold_limit: int) -> ProtectedRanges:
        """Find the widest spans that fit. Of two that cross, an atom wins, else the first.

        Marks that join a span's last character are part of it. If they do not fit with it, only
        an atom stays whole: its last character is cut.
        """
        spans: list[tuple[int, int, bool]] = []
        for start, end, is_atom in _spans(text, hold_limit):
            marked = end
            while extends(text, marked):
                marked += 1
            if marked > end and fits(text[start:marked], limit):
                end = marked
            elif not fits(text[start:end], limit) or (marked > end and not is_atom):
                continue
            if spans and start < spans[-1][1]:
                if end <= spans[-1][1] or spans[-1][2] or not is_atom:
                    continue
                spans.pop()
            spans.append((start, end, is_atom))
        return cls([(start, end) for start, end, _ in spans])

    def around(self, at: int) -> int:
        """Return the start of the span that a cut at `at` would split, or -1."""
        i = bisect_left(self._starts, at) - 1
        return self._starts[i] if i >= 0 and at < self.spans[i][1] else -1

    def last_end(self, low: int, high: int) -> int:
        """Return the last end of a span from `low` to `high`, or -1."""
        i = bisect_left(self._starts, high) - 1
        return self.spans[i][1] if i >= 0 and low <= self.spans[i][1] <= high else -1

    def last(self, mark: regex.Pattern[str], text: str, low: int, high: int) -> int:
        """Return the last `mark` between `low` and `high` outside the spans, or -1."""
        while low < high and (found := mark.search(text, low, high)):
            span = self.around(found.start())
            if span < 0:
                return found.start()
            high = span + 1
        return -1


def fences(text: str) -> list[tuple[int, int]]:
    """Return the fenced blocks of a text in which fences are balanced."""
    if "```" not in text:
        return []
    runs = list(_FENCE_RUN.finditer(text))
    pairs = zip(runs[::2], runs[1::2], strict=False)
    return [(opening.start(), closing.end()) for opening, closing in pairs]


def _spans(text: str, hold_limit: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans of the prose, and the fenced blocks between as spans."""
    at = 0
    for fence in [*fences(text), (len(text), len(text))]:
        prose = text[at : fence[0]]
        for start, end, is_atom in find_spans(prose, hold_limit):
            yield at + start, at + end, is_atom
        if fence[0] < fence[1]:
            yield *fence, True
        at = fence[1]
