"""Chooses where to cut a text that is longer than a message (spec 07, degree 0).

Code is cut in `text.code_block_splitting`.
"""

from __future__ import annotations

import re
from typing import Final

import regex

from oshaberi.text.code_block_splitting import BLANK
from oshaberi.text.line_kinds import is_intro
from oshaberi.text.messages.protected_ranges import ProtectedRanges
from oshaberi.text.sentences.sentence_end_search import sentence_ends
from oshaberi.text.text_measure import extends, grapheme_edge

_LEAD: Final = re.compile(r"[.,!?;:。！？、，…]*\s*")
# Searched backwards; each needs one character behind it, so that the limit itself counts.
_BLANK_LINE: Final = regex.compile(r"(?r)\n[^\S\n]*\n")
_NEWLINE: Final = regex.compile(r"(?rs)\n(?=.)")
_INTRO_LINES: Final = 4  # more of them in a row announce nothing
_SENTENCE_VIEW: Final = 100  # what a sentence end may depend on, before and behind it


def message_end(text: str, start: int, high: int, kept: ProtectedRanges) -> int:
    """Return where a message from `start` ends, at most at `high`."""
    lead = _LEAD.match(text, start, high)
    low = max(start + 1, lead.end() if lead else start)  # no fragment of punctuation
    late = max(low, (start + high) // 2)
    for mark in (_BLANK_LINE, _NEWLINE):
        at = kept.last(mark, text, late, high + 2)
        if at > 0:
            return _before_intro(text, start, at, kept)
    at = _last_sentence(text, start, late, high, kept)
    if at < 0:
        at = kept.last(BLANK, text, low, high + 2)
    if at < 0:
        at = kept.last_end(late, high)
    return at if at > 0 and not extends(text, at) else _edge(text, start, high, kept)


def _last_sentence(text: str, start: int, low: int, high: int, kept: ProtectedRanges) -> int:
    """Return the last sentence end from `low` to `high`, or -1."""
    begin = max(start, low - _SENTENCE_VIEW)
    for end in reversed(sentence_ends(text[begin : high + _SENTENCE_VIEW])):
        at = begin + end
        if at < low:
            break
        if at <= high and kept.around(at) < 0:
            return at
    return -1


def _before_intro(text: str, start: int, end: int, kept: ProtectedRanges) -> int:
    """Return `end`, or an earlier one if the last lines announce what follows."""
    at = end
    for _ in range(_INTRO_LINES):
        line_start = text.rfind("\n", start, at) + 1
        if line_start <= start or not is_intro(text[line_start:at]):
            return at
        before = line_start
        while before > start and text[before - 1].isspace():
            before -= 1
        if before <= start or kept.around(before) >= 0:
            return at
        at = before
    return end


def _edge(text: str, start: int, high: int, kept: ProtectedRanges) -> int:
    """Return the last position up to `high` that splits neither a span nor a character."""
    window = text[start : high + 2]
    at = high
    while at > start:
        edge = start + grapheme_edge(window, 0, at - start)
        span = kept.around(edge)
        if span < 0:
            return edge
        at = span
    whole = kept.last_end(start + 1, high)  # behind it a mark may follow that joins its last letter
    return whole if whole > 0 else start + grapheme_edge(window, 0, high - start)
