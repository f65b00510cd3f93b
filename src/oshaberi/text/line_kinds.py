"""The kinds of lines (list item, quote, heading, …), by the marker that a line begins with."""

from __future__ import annotations

import re
from typing import Final, Literal, cast

BlockKind = Literal["text", "list", "quote", "heading", "subtext", "table"]

# A marker needs a blank after it; `>` counts alone, too, as the empty line inside a quote.
# `||` opens a spoiler, not a row.
_MARKER: Final = re.compile(
    r"[ \t]*(?:"
    r"(?P<list>(?:[-*•+]|[0-9]{1,9}[.)])[ \t]+)"
    r"|(?P<quote>(?:>>>|>)(?:[ \t]+|(?=\n|\Z)))"
    r"|(?P<heading>\#{1,3}[ \t]+)"
    r"|(?P<subtext>-\#[ \t]+)"
    r"|(?P<table>\|(?!\|))"
    r")"
)
MARKER_BEGINS: Final = frozenset(" \t-*•+>#|0123456789")
"""With which a line begins that may be more than text."""
_BULLETS: Final = frozenset("-*•+")
_BLANKS: Final = frozenset(" \t")
_BLOCK_BEGINS: Final = MARKER_BEGINS | {"`"}
_FENCE: Final = re.compile(r"[ \t]*```")
_RULE: Final = re.compile(
    r"[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,}|\*(?:[ \t]\*){2,}|-(?:[ \t]-){2,}|>{1,3})[ \t]*"
)
BREAK_TAG: Final = re.compile(r"</?br[ \t]{0,8}/?>", re.IGNORECASE)
"""A line break as HTML writes it (spec 06 S4)."""
_INTRO_ENDS: Final = (":", "：")
_TAB: Final = 4


def block_kind(line: str) -> BlockKind:
    """Return the kind of block that `line` belongs to."""
    first = line[:1]
    if first not in MARKER_BEGINS:
        return "text"
    if first in _BULLETS:
        following = line[1:2]
        if following in _BLANKS:
            return "list"  # the usual case
        if following != "#":
            return "text"
    found = _MARKER.match(line)
    return cast(BlockKind, found.lastgroup) if found else "text"


def marker_end(line: str) -> int:
    """Return where the text after the line's marker begins; 0 without a marker."""
    if line[:1] not in MARKER_BEGINS:
        return 0
    found = _MARKER.match(line)
    return found.end() if found else 0


def indent(line: str) -> int:
    """Return the columns of leading white space. A tab goes to the next multiple of four."""
    columns = 0
    for char in line:
        if char == " ":
            columns += 1
        elif char == "\t":
            columns += _TAB - columns % _TAB
        else:
            break
    return columns


def begins_block(text: str) -> bool:
    """Return whether `text` begins with a block marker or a fence."""
    if text[:1] not in _BLOCK_BEGINS:
        return False
    return _MARKER.match(text) is not None or _FENCE.match(text) is not None


def is_rule(line: str) -> bool:
    """Return whether Discord cannot show `line`: a rule, or an empty quote (spec 06 S4)."""
    return _RULE.fullmatch(line) is not None


def is_intro(line: str) -> bool:
    """Return whether `line` announces the next one: a heading, or a line that ends in a colon."""
    if line.rstrip(" \t*_").endswith(_INTRO_ENDS):
        return True
    return block_kind(line) == "heading"
