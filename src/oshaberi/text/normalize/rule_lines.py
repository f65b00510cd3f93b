"""Turns lines that Discord cannot show (rules, empty quotes) into paragraph breaks (spec 06 S4).

A subtext marker alone on its line joins the next line (spec 05 C7).
"""

from __future__ import annotations

from typing import Final

from oshaberi.text.config import TextConfig
from oshaberi.text.line_kinds import is_rule
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, TextPiece

_BEGINNINGS: Final = frozenset("-*_=> \t")
_SIGNS: Final = "-*_=># \t"
"""The characters that such a line consists of."""
_ENDS: Final = frozenset("-*_=>#")
_SUBTEXT: Final = "-#"


class RuleLines(Normalizer):
    """Handles whole lines only, not the parts that an overflow cut leaves."""

    def __init__(self, _config: TextConfig) -> None: ...

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            text = piece.text
            if "\n" not in text:
                is_due = text[:1] in _BEGINNINGS and _may_go(text)
            else:
                is_due = any(_may_go(line) for line in text.split("\n"))
            if is_due:
                self._clean(piece, work, piece is work.pieces[-1])

    def _clean(self, piece: TextPiece, work: SegmentWork, is_last: bool) -> None:
        lines = piece.text.split("\n")
        first = 0 if piece.line_start else 1
        stop = len(lines) if work.ends_line or not is_last else len(lines) - 1
        kept = lines[:first]
        broken = False  # the lines before ended in a rule: one blank line is owed
        for line in lines[first:stop]:
            if is_rule(line):
                work.withheld.append((line, "rule"))
                _drop_blank_tail(kept)
                broken = True
            elif not broken or line.strip():
                _add(kept, line, broken)
                broken = False
        for line in lines[max(first, stop) :]:
            _add(kept, line, broken)
            broken = False
        piece.text = "\n".join(kept)


def _may_go(line: str) -> bool:
    """Return whether `line` may be a rule, an empty quote or a subtext marker."""
    last = line[-1:]
    if last not in _ENDS and not last.isspace():
        return False  # the usual case
    return not line.strip().strip(_SIGNS)


def _add(kept: list[str], line: str, broken: bool) -> None:
    if broken and kept:
        kept.append("")
    if kept and kept[-1].strip() == _SUBTEXT and line.strip():
        kept[-1] = f"{_SUBTEXT} {line.lstrip()}"
    else:
        kept.append(line)


def _drop_blank_tail(kept: list[str]) -> None:
    while kept and not kept[-1].strip():
        kept.pop()
