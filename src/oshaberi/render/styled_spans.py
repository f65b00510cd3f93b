"""Text in one style: what a cell's Markdown becomes, and what fonts are chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto


class CellMark(Flag):
    """The style of a span: a combination of bold, italic, code, link and so on."""

    PLAIN = 0
    BOLD = auto()
    ITALIC = auto()
    UNDERLINE = auto()
    STRIKE = auto()
    CODE = auto()
    LINK = auto()
    MENTION = auto()


@dataclass(frozen=True, slots=True)
class StyledSpan:
    """Text in one style; a newline is a line break. The last span of a link has its `url`."""

    text: str
    marks: CellMark = CellMark.PLAIN
    url: str = ""
