"""Blocks between prose: the base of their readers, and fenced code (spec 05 B1, B2, B6).

A block's reader reads as far as the text is decided. When the block is over, it returns where prose
goes on; a table (`table_blocks`) that is too long is given back, to be read as prose.
"""

from __future__ import annotations

from oshaberi.events import Boundary
from oshaberi.text.atoms import backticks_end
from oshaberi.text.code_block_splitting import FENCE, CodeBlock
from oshaberi.text.copied_state import CopiedState, SharedValue
from oshaberi.text.segments.buffer import Trim, VisibleBuffer


class ProseAgain(SharedValue):
    """Where prose continues after a block.

    `fresh_line`: a line begins there. `refused`: the block was not a table, so it is read again.
    """

    __slots__ = ("at", "fresh_line", "refused")

    def __init__(self, at: int, *, fresh_line: bool = False, refused: bool = False) -> None:
        self.at = at
        self.fresh_line = fresh_line
        self.refused = refused


class BlockReader(CopiedState):
    """Reads one block out of the buffer."""

    def read(self, final: bool) -> ProseAgain | None:
        """Read on. Return where prose continues, or None if more text is needed."""
        raise NotImplementedError

    def close(self, reason: Boundary, trim: Trim) -> None:
        """Force a flush: release everything that `trim` leaves."""
        raise NotImplementedError

    def shift(self, by: int) -> None:
        """Adjust positions, because the buffer dropped its first `by` characters."""
        raise NotImplementedError


class CodeReader(BlockReader):
    """Reads a fenced block, up to its closing backticks. The line may continue after them."""

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
        """Force a flush. Code has no clauses, but its last line may be incomplete and kept back."""
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
