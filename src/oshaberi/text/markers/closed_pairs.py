"""Atoms, closed pairs and open markers of a whole text, in one pass.

It uses the same markers (`rules`) and bookkeeping (`open_markers`) as the stream.
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.atoms import (
    backticks_end,
    code_limit,
    inline_code_close,
    url_end,
    url_stop,
)
from oshaberi.text.character_search import IS_COMPILED, CharacterTable
from oshaberi.text.copied_state import SharedValue
from oshaberi.text.markers.open_markers import OpenMarkers
from oshaberi.text.markers.rules import MARK_HANDLERS, MARKS

_SCHEME: Final = re.compile(r"(?:https?|ftps?)$", re.IGNORECASE)
_BEGUN: Final = re.compile(r"(?:h|htt?|f|ft|(?:https?|ftps?)(?::/{0,2})?)$", re.IGNORECASE)
_BEGUN_MAX: Final = 8


class Interest(SharedValue):
    """What a reader stops at: marks, a newline, a backtick, `://`.

    A pattern begins with one set of characters: `re` skips everything else much faster than it
    tries alternatives at each place, and faster still if all of the set is ASCII.
    """

    __slots__ = ("_any", "_ascii", "_table")

    def __init__(self, marks: str) -> None:
        self._any = _stops_at(marks)
        self._ascii = _stops_at("".join(mark for mark in marks if mark.isascii()))
        self._table = CharacterTable(f"\n`:{marks}")

    def next(self, text: str, at: int) -> int:
        """Return where the reader stops next, from `at` on; the end of `text` if nowhere."""
        if IS_COMPILED:
            return self.walk(text, at)
        found = (self._ascii if text.isascii() else self._any).search(text, at)
        return found.start() if found else len(text)

    def walk(self, text: str, at: int) -> int:
        """Return the same as `next`, looking at each character."""
        end = len(text)
        at = self._table.first(text, at, end)
        while at < end and text[at] == ":" and text[at + 1 : at + 3] != "//":
            at = self._table.first(text, at + 1, end)
        return at


def _stops_at(marks: str) -> re.Pattern[str]:
    return re.compile(rf"[\n`:{re.escape(marks)}](?<!:(?!//))")


_INTEREST: Final = Interest(MARKS)


def url_start(text: str, colon: int) -> int:
    """Return where the URL with `://` at `colon` begins, or -1 if it is not a URL."""
    if text[max(0, colon - 5) : colon] == "https":
        return colon - 5  # the usual case
    scheme = _SCHEME.search(text, max(0, colon - 5), colon)
    return scheme.start() if scheme else -1


def begun_url(text: str, end: int) -> int:
    """Return where a URL begins if `text[:end]` ends with the beginning of one, else -1."""
    begun = _BEGUN.search(text[max(0, end - _BEGUN_MAX) : end])
    return max(0, end - _BEGUN_MAX) + begun.start() if begun else -1


def find_spans(text: str, hold_limit: int) -> list[tuple[int, int, bool]]:
    """Return every atom and every closed pair of a whole text: (start, end, is_atom), by start."""
    open_markers = _read(text, hold_limit)
    open_markers.blank_line(len(text))
    return sorted(open_markers.spans)


def find_openers(text: str, hold_limit: int) -> list[tuple[str, int]]:
    """Return the markers that are open at the end of a text, and where they are."""
    return _read(text, hold_limit).stack


def _read(text: str, hold_limit: int) -> OpenMarkers:
    open_markers = OpenMarkers(hold_limit)
    at, end = _quote_block(open_markers, text, 0), len(text)
    while at < end:
        mark = text[at]
        read_mark = MARK_HANDLERS.get(mark)
        if read_mark is None:
            at = _INTEREST.next(text, at)
            if at == end:
                break
            mark = text[at]
            read_mark = MARK_HANDLERS.get(mark)
        while open_markers.stack and at > open_markers.stack[0][1] + hold_limit:
            open_markers.expire()
        if read_mark is not None:
            at = read_mark(open_markers, text, at, True)
        elif mark == "\n":
            at = _line(open_markers, text, at)
        elif mark == "`":
            at = _code(open_markers, text, at, code_limit(hold_limit))
        else:
            at = _url(open_markers, text, at)
    return open_markers


def _line(open_markers: OpenMarkers, text: str, at: int) -> int:
    after = at + 1
    while after < len(text) and text[after].isspace():
        after += 1
    start = at + 1 if after == at + 1 else text.rfind("\n", at, after) + 1
    if open_markers.has_links:
        open_markers.line_break()
    if start > at + 1:
        open_markers.blank_line(at)
    return _quote_block(open_markers, text, start)


def _quote_block(open_markers: OpenMarkers, text: str, at: int) -> int:
    if text.startswith(">>> ", at):
        if not open_markers.open[">>>"]:
            open_markers.push(">>>", at)
        return at + 4
    return at


def _code(open_markers: OpenMarkers, text: str, at: int, limit: int) -> int:
    end = backticks_end(text, at)
    if end - at > 2:
        return end
    close = inline_code_close(text, end, end - at, limit)
    if close:
        open_markers.spans.append((at, close, True))
    return close or end


def _url(open_markers: OpenMarkers, text: str, at: int) -> int:
    start = url_start(text, at)
    if start < 0:
        return at + 3
    stop = url_stop(text, at + 3, len(text))
    end = max(at + 3, url_end(text, start, stop if stop >= 0 else len(text)))
    open_markers.spans.append((start, end, True))
    return end
