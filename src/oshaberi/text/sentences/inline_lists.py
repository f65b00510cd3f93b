"""Finds lists within one line: `1) Flour 2) Eggs 3) Milk`, `a. Wash b. Dry`.

Needs the whole line. Only a line that begins with an item's marker can have more of them, and each
must be the successor of the one before, in the same style: prose is not touched.
"""

from __future__ import annotations

import re
from typing import Final

_MARKER: Final = r"([•⁃‣·] ?)?(\d{1,3}|[a-z])(\.\)|\.|\))(?= )"
_HEAD: Final = re.compile(r"[ \t]{0,8}" + _MARKER)
_HEAD_BEGINS: Final = frozenset(" \t•⁃‣·abcdefghijklmnopqrstuvwxyz")
_FIRST: Final = re.compile(r"^[ \t]*" + _MARKER, re.MULTILINE)
_LATER: Final = re.compile(r"(?<= )" + _MARKER)
_CAPITAL_BEHIND: Final = re.compile(r"[.)]+ +[\"'“‘(*_]*[^\W\d_a-z]")


def begins_items(text: str, line: int) -> bool:
    """Tell whether the line at `line` begins with an item's marker."""
    first = text[line : line + 1]
    if first not in _HEAD_BEGINS and not first.isdigit():
        return False
    return _HEAD.match(text, line) is not None


def item_breaks(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where items after the first begin: (end of the text before, start of the marker)."""
    breaks: list[tuple[int, int]] = []
    first = _FIRST.search(text, start, end)
    while first:
        newline = text.find("\n", first.end(), end)
        line_end = end if newline < 0 else newline
        breaks += _later_items(text, first, line_end)
        first = _FIRST.search(text, line_end, end)
    return breaks


def _later_items(text: str, first: re.Match[str], line_end: int) -> list[tuple[int, int]]:
    found = []
    bullet, label, style = first.groups()
    last = first.end()
    for marker in _LATER.finditer(text, last, line_end):
        if marker.group(1) != bullet or marker.group(3) != style:
            continue
        if marker.group(2) != _successor(label) or not _item_begins(text, marker):
            continue
        label = marker.group(2)
        before = marker.start()
        while text[before - 1].isspace():
            before -= 1
        if before > last:
            found.append((before, marker.start()))
        last = marker.end()
    return found


def _successor(label: str) -> str:
    if label.isascii() and label.isdigit():
        return str(int(label) + 1)
    return chr(ord(label[0]) + 1)


def _item_begins(text: str, marker: re.Match[str]) -> bool:
    """Tell whether an item begins. `2)` is clear; after `2.` a capital must follow."""
    if marker.group(3) == ")" and marker.group(2).isdigit():
        return True
    return _CAPITAL_BEHIND.match(text, marker.start(3)) is not None
