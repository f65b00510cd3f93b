"""Measures, wraps and aligns text on a grid of characters."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category, east_asian_width

import regex

from oshaberi.events import Alignment
from oshaberi.render.cells.cell_markdown import plain_text
from oshaberi.render.fonts.grapheme_clusters import clusters

_EMOJI = regex.compile(r"\p{Emoji_Presentation}|\p{Regional_Indicator}|.+[\ufe0f\u20e3]")
_CONTROL = regex.compile(r"[\p{Cc}\u2028\u2029]+")
_LONE = re.compile("[\ud800-\udfff]")
_FENCE = re.compile(r"`(?=``)")


def cell_lines(cell: str, *, addresses: bool = False) -> list[str]:
    """Return the text of a cell, line by line, safe inside a code block."""
    lines = map(code_line, plain_text(cell, addresses=addresses).split("\n"))
    return [line for line in lines if line] or [""]


def code_line(text: str) -> str:
    """Return a line that is safe inside a code block."""
    line = " ".join(_CONTROL.sub(" ", _LONE.sub("\ufffd", text)).split())
    return _FENCE.sub("`\u200b", line)


def display_width(text: str) -> int:
    """Return the number of columns: two for wide characters and emoji, none for marks."""
    if text.isascii():
        return len(text)
    return sum(_cluster_width(cluster) for cluster in clusters(text))


def aligned(text: str, width: int, alignment: Alignment) -> str:
    """Pad the text with spaces to `width`."""
    missing = width - display_width(text)
    if missing <= 0:
        return text
    left = {"right": missing, "center": missing // 2}.get(alignment, 0)
    return " " * left + text + " " * (missing - left)


def wrapped(text: str, width: int) -> list[str]:
    """Wrap the text to `width` columns, between words; a word is cut only if it is longer."""
    if display_width(text) <= width:
        return [text]
    lines: list[str] = []
    line: list[str] = []
    used = -1
    for word in text.split():
        for i, part in enumerate(_parts(word, width)):
            need = display_width(part)
            if line and (i or used + need + 1 > width):
                lines.append(" ".join(line))
                line, used = [part], need
            else:
                line.append(part)
                used += need + 1
    return [*lines, " ".join(line)]


def _parts(word: str, width: int) -> list[str]:
    if display_width(word) <= width:
        return [word]
    parts: list[list[str]] = [[]]
    left = width
    for cluster in clusters(word):
        need = _cluster_width(cluster)
        if need > left and parts[-1]:
            parts.append([])
            left = width
        parts[-1].append(cluster)
        left -= need
    return ["".join(part) for part in parts]


@lru_cache(maxsize=4096)
def _cluster_width(cluster: str) -> int:
    if cluster.isascii():
        return len(cluster)
    if _EMOJI.match(cluster):
        return 2
    return max(_character_width(character) for character in cluster)


def _character_width(character: str) -> int:
    if category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
