"""The kinds of lines (list item, quote, heading, …), by the marker that a line begins with."""

from __future__ import annotations

import re
from typing import Final, Literal

BlockKind = Literal["text", "list", "quote", "heading", "subtext", "table"]

# A marker needs a blank after it; `>` counts alone, too, as the empty line inside a quote.
# `||` opens a spoiler, not a row. `block_kind` reads the same markers without the pattern.
MARKER: Final = re.compile(
    r"[ \t]*(?:"
    r"(?:[-*•+]|[0-9]{1,9}[.)])[ \t]+"
    r"|(?:>>>|>)(?:[ \t]+|(?=\n|\Z))"
    r"|\#{1,3}[ \t]+"
    r"|-\#[ \t]+"
    r"|\|(?!\|)"
    r")"
)
MARKER_BEGINS: Final = frozenset(" \t-*•+>#|0123456789")
"""The beginning of a line that may be more than text."""
_BULLETS: Final = frozenset("-*•+")
_DIGITS: Final = frozenset("0123456789")
_NUMBER_ENDS: Final = frozenset(".)")
_BLANKS: Final = frozenset(" \t")
_QUOTED: Final = frozenset(("", " ", "\t", "\n"))
_LONGEST_NUMBER: Final = 11
"""The marker of a list item, with its dot and a blank."""
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
    if first in _BLANKS:
        line = line.lstrip(" \t")
        first = line[:1]
    following = line[1:2]
    if first in _BULLETS:
        if following in _BLANKS:
            return "list"
        return "subtext" if line[:2] == "-#" and line[2:3] in _BLANKS else "text"
    if first == "#":
        return "heading" if line[:4].lstrip("#")[:1] in _BLANKS else "text"
    if first == ">":
        after = line[3:4] if line.startswith(">>>") else following
        return "quote" if after in _QUOTED else "text"
    if first == "|":
        return "text" if following == "|" else "table"
    return "list" if _is_numbered(line) else "text"


def _is_numbered(line: str) -> bool:
    """Return whether `line` begins with up to nine digits, a dot or a bracket, and a blank."""
    if line[:1] not in _DIGITS:
        return False
    after = line[:_LONGEST_NUMBER].lstrip("0123456789")
    return after[:1] in _NUMBER_ENDS and after[1:2] in _BLANKS


def marker_end(line: str) -> int:
    """Return where the text after the line's marker begins; 0 without a marker."""
    if line[:1] not in MARKER_BEGINS:
        return 0
    found = MARKER.match(line)
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
    return MARKER.match(text) is not None or _FENCE.match(text) is not None


def is_rule(line: str) -> bool:
    """Return whether Discord cannot show `line`: a rule, or an empty quote (spec 06 S4)."""
    return _RULE.fullmatch(line) is not None


def is_intro(line: str) -> bool:
    """Return whether `line` announces the next one: a heading, or a line that ends in a colon."""
    if line.rstrip(" \t*_").endswith(_INTRO_ENDS):
        return True
    return block_kind(line) == "heading"
