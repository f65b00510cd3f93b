"""Spec 05 B7: a table is held row by row until a line that is no row, or until it is too long."""

from __future__ import annotations

import re
from enum import Enum, auto

from oshaberi.text.tables import is_row

_SOLID = re.compile(r"[^ \t]")


class Verdict(Enum):
    WAIT = auto()
    ROW = auto()
    END = auto()
    TOO_LONG = auto()


class TableRows:
    """Reads the rows of one table. `pos` is the start of the first line not yet read as a row."""

    def __init__(self, text: str, start: int, pos: int, longest: int) -> None:
        self._leading_bar = text[_skip_blanks(text, start)] == "|"
        self._longest = longest
        self.pos = pos

    def shift(self, by: int) -> None:
        self.pos -= by

    def read(self, text: str, start: int, final: bool) -> Verdict:
        """Read as many rows as there are."""
        while (verdict := self._line(text, start, final)) is Verdict.ROW:
            pass
        return verdict

    def _line(self, text: str, start: int, final: bool) -> Verdict:
        """The next line. What decides it must lie within the longest table, so that the result
        does not depend on how the text arrived (L2)."""
        furthest = start + self._longest
        solid = _skip_blanks(text, self.pos)
        if solid == len(text):
            return Verdict.TOO_LONG if solid > furthest else Verdict.WAIT
        if text[solid] == "\n" or (self._leading_bar and text[solid] != "|"):
            return Verdict.END if solid < furthest else Verdict.TOO_LONG
        newline = text.find("\n", solid)
        if newline < 0 and not final:
            return Verdict.TOO_LONG if len(text) > furthest else Verdict.WAIT
        end = newline if newline >= 0 else len(text)
        if end > furthest:
            return Verdict.TOO_LONG
        if not is_row(text[self.pos : end], self._leading_bar):
            return Verdict.END
        self.pos = min(end + 1, len(text))
        return Verdict.ROW


def _skip_blanks(text: str, at: int) -> int:
    found = _SOLID.search(text, at)
    return found.start() if found else len(text)
