"""Tables between prose (spec 05 B7): where one begins, and which lines belong to it."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from oshaberi.events import Boundary
from oshaberi.text.markdown_tables import header_width, is_row, separator
from oshaberi.text.markers.rules import WAIT
from oshaberi.text.segments.blocks import BlockReader, ProseAgain
from oshaberi.text.segments.buffer import Trim, VisibleBuffer
from oshaberi.text.segments.lines import LineBreak

_SOLID: Final = re.compile(r"[^ \t]")
_HEAD_LINES: Final = 2
_SEPARATOR_CHARS: Final = re.compile(r"[|:\- \t]*")


def heads_table(text: str, line: int, brk: LineBreak, limit: int, final: bool) -> int:
    """Return where the separator row after the header at `line` ends; 0 if none, or WAIT."""
    if brk.blank or text[brk.solid] not in "|:-":
        return 0
    end = _SEPARATOR_CHARS.match(text, brk.solid).end()  # type: ignore[union-attr]
    if end >= limit:
        return 0
    if end == len(text):
        if not final:
            return WAIT
    elif text[end] != "\n":
        return 0
    header = text[line : brk.at]
    width = 0 if "\n" in header else header_width(header)
    if width and len(separator(text[brk.line : end])) == width:
        return end
    return 0


class TableVerdict(Enum):
    WAIT = auto()
    ROW = auto()
    END = auto()
    TOO_LONG = auto()


class TableReader(BlockReader):
    """Reads a table row by row, up to a line that is not a row, or the longest table.

    Its header begins the segment; `pos` is the line after the separator.
    """

    def __init__(self, buffer: VisibleBuffer, pos: int, longest: int) -> None:
        self._buffer = buffer
        self._pos = pos
        self._longest = longest
        self._leading_bar = buffer.text[_skip_blanks(buffer.text, buffer.start)] == "|"

    def read(self, final: bool) -> ProseAgain | None:
        while (verdict := self._line(final)) is TableVerdict.ROW:
            pass
        if verdict is TableVerdict.WAIT:
            return None
        if verdict is TableVerdict.TOO_LONG:
            return ProseAgain(self._buffer.start, refused=True)
        self._end(self._pos, "newline")
        return ProseAgain(self._pos, fresh_line=True)

    def close(self, reason: Boundary, trim: Trim) -> None:
        """Force a flush. Nothing is trimmed or appended inside a row, but it may be left out."""
        if trim == "unfinished":
            self._end_whole(reason)
        else:
            self._end(len(self._buffer.text), reason)

    def shift(self, by: int) -> None:
        self._pos -= by

    def _end(self, end: int, reason: Boundary) -> None:
        source = self._buffer.text[self._buffer.start : end]
        self._buffer.emit("table", source.strip(), reason, end, ends_line=True)
        self._buffer.gap = "\n"

    def _end_whole(self, reason: Boundary) -> None:
        """Keep back the last row, which may be half, or the whole table if it has no other row."""
        end = len(self._buffer.text)
        source = self._buffer.text[self._buffer.start : end].strip()
        row = source.rfind("\n") + 1
        if source.count("\n", 0, row) <= _HEAD_LINES:
            row = 0
        else:
            whole = source[:row].rstrip()
            self._buffer.emit("table", whole, reason, end, ends_line=True)
        self._buffer.emit("trimmed", source[row:], reason, end, ends_line=True)

    def _line(self, final: bool) -> TableVerdict:
        """Judge the next line.

        The decision uses only text within the longest table, so that chunking does not
        change it (L2).
        """
        text = self._buffer.text
        furthest = self._buffer.start + self._longest
        solid = _skip_blanks(text, self._pos)
        if solid == len(text):
            return TableVerdict.TOO_LONG if solid > furthest else TableVerdict.WAIT
        if text[solid] == "\n" or (self._leading_bar and text[solid] != "|"):
            return TableVerdict.END if solid < furthest else TableVerdict.TOO_LONG
        newline = text.find("\n", solid)
        if newline < 0 and not final:
            return TableVerdict.TOO_LONG if len(text) > furthest else TableVerdict.WAIT
        end = newline if newline >= 0 else len(text)
        if end > furthest:
            return TableVerdict.TOO_LONG
        if not is_row(text[self._pos : end], self._leading_bar):
            return TableVerdict.END
        self._pos = min(end + 1, len(text))
        return TableVerdict.ROW


def _skip_blanks(text: str, at: int) -> int:
    found = _SOLID.search(text, at)
    return found.start() if found else len(text)
