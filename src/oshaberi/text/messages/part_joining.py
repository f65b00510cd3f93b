"""Decides what stands between two parts of one message: nothing, a space, a newline, a blank line.

At degree 0 this is spec 07's aggregation (`aggregate_join`).
"""

from __future__ import annotations

from typing import Final

from oshaberi.events import Boundary, Identity
from oshaberi.text.line_kinds import BlockKind

_SAME_BLOCK: Final = frozenset({"list", "quote", "subtext"})


class PackedPart:
    """A piece of text that goes into a message."""

    __slots__ = (
        *("boundary", "end", "gap", "identity", "is_code", "joiner", "kind", "labelled", "lead"),
        "text",
    )

    def __init__(
        self,
        text: str,
        boundary: Boundary,
        end: int,
        gap: str,
        identity: Identity | None = None,
        labelled: bool = False,
    ) -> None:
        self.text = text
        self.boundary = boundary
        self.end = end
        self.gap = gap
        self.identity = identity
        self.labelled = labelled
        self.is_code = False
        self.kind: BlockKind = "text"
        self.lead = 0
        """How many characters in front are punctuation that was joined to it (S1)."""
        self.joiner = ""
        """What goes between it and the part before it, in one message."""

    def __getnewargs__(self) -> tuple[str, Boundary, int, str]:
        """Return what a copy is made of: mypyc's `__new__` asks for what `__init__` needs."""
        return self.text, self.boundary, self.end, self.gap


def joiner(last: PackedPart, part: PackedPart, *, blank_line: bool) -> str:
    """Return the text between two parts. With `blank_line`, paragraphs are set apart by one."""
    newlines = part.gap.count("\n")
    if newlines == 0:
        if would_merge(last, part):
            return "\n"
        return " " if part.gap else ""
    if newlines == 1:
        same = part.kind in _SAME_BLOCK and part.kind == last.kind
        if part.is_code or last.is_code or same or not blank_line:
            return "\n"
    return "\n\n"


def would_merge(last: PackedPart, part: PackedPart) -> bool:
    """Tell whether their backticks would become one run: `<br>` may have stood between them."""
    if part.is_code and last.is_code:
        return "\n" not in part.gap
    return not part.gap and last.text.endswith("`") and part.text.startswith("`")
