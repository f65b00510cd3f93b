"""Parses Markdown tables: header, separator, rows and cells (spec 05 B7)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from oshaberi.events import Alignment
from oshaberi.text.atoms import code_spans

_CELL_BAR: Final = re.compile(r"[\\|](?:(?<=\\).|(?<=\|)\|*)")
_DASHES: Final = re.compile(r":?-+:?")
_ALIGNMENTS: Final[dict[tuple[bool, bool], Alignment]] = {
    (False, False): "none",
    (True, False): "left",
    (False, True): "right",
    (True, True): "center",
}
_INLINE_CODE: Final = 500

Grid = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[Alignment, ...]]


def cells(line: str) -> list[str]:
    """Return the cells of a row.

    A bar in inline code or after a backslash does not separate cells.
    """
    line = line.strip()
    if "\\" in line or "`" in line:
        edges = [-1, *_bars(line), len(line)]
        found = [line[left + 1 : right] for left, right in pairwise(edges)]
    else:
        found = line.split("|")  # the usual case
    if len(found) > 1 and not found[0]:
        del found[0]
    if len(found) > 1 and not found[-1]:
        found.pop()
    return [cell.strip() for cell in found]


def header_width(line: str) -> int:
    """Return the number of columns if `line` can be a header, else 0."""
    width = len(cells(line)) if "|" in line else 0
    if width < 2 or ("||" in line and _only_spoilers(line, _bars(line))):
        return 0
    return width


def separator(line: str) -> tuple[Alignment, ...]:
    """Return the alignments of a separator row; empty if `line` is not one."""
    parts = cells(line)
    if not all(_DASHES.fullmatch(part) for part in parts):
        return ()
    return tuple(_ALIGNMENTS[part[0] == ":", part[-1] == ":"] for part in parts)


def is_row(line: str, leading_bar: bool) -> bool:
    """Return whether `line` continues a table. `leading_bar`: the header begins with a bar."""
    if "```" in line:
        return False
    if leading_bar:
        return line.lstrip(" \t").startswith("|")
    return "|" in line and len(cells(line)) > 1


def parse(source: str) -> Grid:
    """Parse a complete table: header, rows and alignments. Rows are as wide as the header."""
    lines = source.split("\n")
    header = tuple(map(_cell_text, cells(lines[0])))
    width = len(header)
    rows = []
    for line in lines[2:]:
        row = [_cell_text(cell) for cell in cells(line)]
        if len(row) > width:
            row[width - 1 :] = [" | ".join(row[width - 1 :])]
        rows.append(tuple(row + [""] * (width - len(row))))
    return header, tuple(rows), separator(lines[1])


def _cell_text(cell: str) -> str:
    return cell.replace("\\|", "|") if "\\" in cell else cell


def _bars(line: str) -> list[int]:
    """Return the positions of the bars that separate cells."""
    spans = code_spans(line, _INLINE_CODE) if "`" in line else []
    bars = []
    inside = 0
    for found in _CELL_BAR.finditer(line):
        if found[0][0] != "|":
            continue
        for at in range(found.start(), found.end()):
            while inside < len(spans) and spans[inside][1] <= at:
                inside += 1
            if inside == len(spans) or at < spans[inside][0]:
                bars.append(at)
    return bars


def _only_spoilers(line: str, bars: list[int]) -> bool:
    """Return whether every bar is half of a `||`, and the line is not just empty cells."""
    places = set(bars)
    paired = all(at + 1 in places or at - 1 in places for at in bars)
    return paired and line.strip(" \t|") != ""
