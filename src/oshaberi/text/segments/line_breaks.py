"""Spec 05 B3: looks at what follows a newline, to decide whether the segment ends there.

Pure functions over the text known so far; None or WAIT means that more text is needed.
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.line_kinds import BlockKind, begins_block, block_kind
from oshaberi.text.markers.marker_rules import WAIT

_SOLID: Final = re.compile(r"\S")
PUNCTUATION: Final = frozenset(".,!?;。！？、，…")
"""A line that begins with one of these may belong to the line before."""
_CARRIED: Final = re.compile(r"[.,!?;。！？、，]+")
_ELLIPSIS: Final = ("...", "。。")
_SHORT_ELLIPSIS: Final = re.compile(r"(?:…[.,!?;。！？、，…]?|[.,!?;。！？、，]…)(?![^\s])")
_CARRY_MAX: Final = 16
_MARKER_MAX: Final = 12
_JOINS_LIKE: Final = frozenset({"list", "quote", "subtext"})


class LineBreak:
    """A newline and the start of the next visible line."""

    __slots__ = ("at", "blank", "line", "solid")

    def __init__(self, at: int, line: int, solid: int) -> None:
        self.at = at
        self.line = line
        """Where the next line that is not blank begins, its indentation included."""
        self.solid = solid
        """Its first character that is not white space."""
        self.blank = line > at + 1


def read_break(text: str, at: int, limit: int) -> LineBreak | None:
    """Return the line break at `at`, once the next visible character is known.

    That character must come before `limit`; else returns None.
    """
    after = at + 1
    if after < min(len(text), limit) and not text[after].isspace():
        return LineBreak(at, after, after)  # the usual case
    found = _SOLID.search(text, after, limit)
    if found is None:
        return None
    solid = found.start()
    return LineBreak(at, text.rfind("\n", at, solid) + 1, solid)


def carry_end(text: str, at: int, final: bool) -> int:
    """Return the end of punctuation at `at` that belongs to the line before; 0 if none, or WAIT."""
    after = text[at + 1 : at + 2]
    if after and after not in PUNCTUATION and not after.isspace():
        return 0  # the usual case: .env
    run = _CARRIED.match(text, at, at + _CARRY_MAX + 1)
    if run is None or run.end() - at > _CARRY_MAX or text.startswith(_ELLIPSIS, at):
        return 0
    if run.end() == len(text):
        return run.end() if final else WAIT
    return run.end() if text[run.end()].isspace() else 0


def ellipsis_stays(text: str, at: int, limit: int, final: bool) -> int:
    """Tell whether a line of only `…` stays with the line before: 0, 1 or WAIT.

    Usually it goes in front of the next line (S1). If nothing follows, it would be a message of
    one character, which L1 forbids.
    """
    line = _SHORT_ELLIPSIS.match(text, at) if "…" in text[at : at + 2] else None
    if line is None:
        return 0
    following = _SOLID.search(text, line.end(), limit)
    if following is None:
        if len(text) >= limit:
            return 0
        return 1 if final else WAIT
    if line.end() == following.start() or "\n" not in text[line.end() : following.start()]:
        return 0
    head = text[following.start() : following.start() + _MARKER_MAX]
    if len(head) < _MARKER_MAX and "\n" not in head and not final:
        return WAIT
    return int(begins_block(head))


def joins_block(text: str, here: BlockKind, brk: LineBreak, final: bool) -> int:
    """Tell whether the next line stays with this one (`paragraph_mode = "blocks"`), or WAIT."""
    if here == "heading":
        return 1
    if here not in _JOINS_LIKE or (brk.blank and here != "list"):
        return 0
    head = text[brk.solid : brk.solid + _MARKER_MAX]
    if len(head) < _MARKER_MAX and "\n" not in head and not final:
        return WAIT
    return int(block_kind(head) == here)
