"""Blocks between prose: fenced code (spec 05 B1, B2, B6) and tables (B7).

A block's reader reads as far as the text is decided. When the block is over, it returns where prose
goes on; a table that is too long is given back, to be read as prose.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from oshaberi.events import Boundary
from oshaberi.text.atoms import backticks_end
from oshaberi.text.code_block_splitting import FENCE, CodeBlock
from oshaberi.text.copied_state import CopiedState, SharedValue
from oshaberi.text.markdown_tables import header_width, is_row, separator
from oshaberi.text.markers.rules import WAIT
from oshaberi.text.segments.buffer import Trim, VisibleBuffer
from oshaberi.text.segments.lines import LineBreak


class ProseAgain(SharedValue):
    """Where prose goes on after a block.

    `fresh_line`: a line begins there. `refused`: the block was no table, so it is read again.
    """

    __slots__ = ("at", "fresh_line", "refused")

    def __init__(self, at: int, *, fresh_line: bool = False, refused: bool = False) -> None:
        self.at = at
        self.fresh_line = fresh_line
        self.refused = refused


class BlockReader(CopiedState):
    """Reads one block out of the buffer."""

    def read(self, final: bool) -> ProseAgain | None:
        """Read on. Return where prose goes on, or None if more text is needed."""
        raise NotImplementedError

    def close(self, reason: Boundary, trim: Trim) -> None:
        """Force a flush: release everything that `trim` leaves."""
        raise NotImplementedError

    def shift(self, by: int) -> None:
        """Adjust positions, because the buffer dropped its first `by` characters."""
        raise NotImplementedError


class CodeReader(BlockReader):
    """Reads a fenced block, up to its closing backticks. Its line may go on after them."""

    def __init__(self, buffer: VisibleBuffer, block: CodeBlock, ticks: int, pos: int) -> None:
        self._buffer = buffer
        self._block = block
        self._ticks = ticks
        self._pos = pos
        self._begin = buffer.at(pos)

    def read(self, final: bool) -> ProseAgain | None:
        text = self._buffer.text
        while True:
            tick = text.find("`", self._pos)
            if tick < 0:
                self._feed(len(text))
                return None
            end = backticks_end(text, tick)
            if end == len(text) and not final:
                self._feed(tick)
                return None
            if end - tick >= self._ticks:
                self._feed(tick)
                self._end(end, "code_close")
                return ProseAgain(end)
            self._feed(end)

    def close(self, reason: Boundary, trim: Trim) -> None:
        """Force a flush. Code has no clauses, but its last line may be half and be kept back."""
        end = len(self._buffer.text)
        if trim != "unfinished":
            self._end(end, reason, cut_off=True)
            return
        *pieces, (last, _) = self._block.close(cut_off=True)
        self._send(pieces)
        whole, half = _whole_lines(last)
        if whole:
            self._buffer.emit("code", whole, reason, end, ends_line=False)
        if half:
            self._buffer.emit("trimmed", half, reason, end, ends_line=True)

    def shift(self, by: int) -> None:
        self._pos -= by

    def _feed(self, end: int) -> None:
        self._send(self._block.feed(self._buffer.text[self._pos : end]))
        self._pos = end

    def _end(self, end: int, reason: Boundary, cut_off: bool = False) -> None:
        *pieces, (last, _) = self._block.close(cut_off=cut_off)
        self._send(pieces)
        self._buffer.emit("code", last, reason, end, ends_line=False)

    def _send(self, pieces: list[tuple[str, int]]) -> None:
        """Send the finished messages of a long block (B6)."""
        for message, consumed in pieces:
            end = self._buffer.place(self._begin + consumed)
            self._buffer.emit("code", message, "overflow", end, ends_line=False)


def _whole_lines(message: str) -> tuple[str, str]:
    """Return a block without its last line, which may be half, and that line."""
    body = message.removesuffix(FENCE).rstrip("\n")
    whole, _, half = body.rpartition("\n")
    if "\n" not in whole and (not whole or whole.startswith(FENCE)):
        return "", body  # no line was whole
    return f"{whole}\n{FENCE}", half


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
    """Reads a table row by row, up to a line that is no row, or until it is too long for one.

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
        """Keep back the last row, which may be half; without another row the whole table."""
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
