"""Writes a table as aligned text in code blocks, where no picture can be made. Never fails.

It writes a grid if the table fits, with wrapped cells if it nearly fits, otherwise one record per
row; a huge table as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from oshaberi.events import Table
from oshaberi.render.column_widths import share
from oshaberi.render.table_grid import MOST_LAID_OUT, Grid, grid_of
from oshaberi.render.text_forms.monospace_text import (
    aligned,
    cell_lines,
    code_line,
    display_width,
    wrapped,
)
from oshaberi.text.text_measure import grapheme_edge, has_visible, utf16_len, utf16_offset

_WIDEST = 64
_SEPARATOR = " | "
_NARROWEST = 12
_TALLEST = 8
_LONGEST_LABEL = 40
_PARAGRAPH = 200
_WORD = re.compile(r"\S* ?")
_FRAME = len("```\n\n```")

Cells = list[list[list[str]]]
"""Rows of cells of lines."""


@dataclass(frozen=True, slots=True)
class _CodeText:
    """The lines of the header, which every message repeats, and of each row."""

    header: list[str]
    rows: list[list[str]]


def table_as_code(table: Table, max_length: int) -> list[str]:
    """Return messages of at most `max_length` UTF-16 units, each a complete code block."""
    if len(table.source) > MOST_LAID_OUT:
        text = _CodeText([], [[code_line(line)] for line in table.source.split("\n")])
    else:
        grid = grid_of(table)
        cells = [[cell_lines(cell, addresses=True) for cell in row] for row in grid.lines]
        text = _as_grid(grid, cells) or _as_records(grid, cells)
    bodies = ("\n".join(lines).strip("\n") for lines in _pages(text, max_length - _FRAME))
    return [f"```\n{body if has_visible(body) else '-'}\n```" for body in bodies]


def _as_grid(grid: Grid, cells: Cells) -> _CodeText | None:
    """Write the columns side by side. Return None if they would be too narrow to read."""
    room = _WIDEST - len(_SEPARATOR) * (grid.width - 1)
    widths = _widths(cells, room)
    if sum(widths) > room:
        return None
    rows = [[_wrap_cell(cell, widths[i]) for i, cell in enumerate(row)] for row in cells]
    tallest = max(len(cell) for row in rows for cell in row)
    if tallest > max(_TALLEST, max(len(cell) for row in cells for cell in row)):
        return None
    lines = [_grid_lines(row, widths, grid) for row in rows]
    rule = "-+-".join("-" * width for width in widths)
    header = [*lines.pop(0), rule] if grid.header else []
    return _CodeText(header, list(_ruled(lines, rule)))


def _ruled(rows: list[list[str]], rule: str) -> Iterator[list[str]]:
    """Put a rule between two rows if one of them has several lines, to show where each ends."""
    for row, following in pairwise(rows):
        yield [*row, rule] if len(row) > 1 or len(following) > 1 else row
    yield from rows[-1:]


def _widths(cells: Cells, room: int) -> list[int]:
    columns = [[line for cell in column for line in cell] for column in zip(*cells, strict=True)]
    natural = [max(1, *map(display_width, lines)) for lines in columns]
    least = [
        max(1, *(_least(word) for line in lines for word in line.split() or [""]))
        for lines in columns
    ]
    return [int(width) for width in share(natural, least, room)]


def _least(word: str) -> int:
    """Return the least width of a word: ASCII words stay whole, other scripts may be broken."""
    width = display_width(word)
    return width if word.isascii() else min(width, _NARROWEST)


def _wrap_cell(cell: list[str], width: int) -> list[str]:
    return [part for line in cell for part in wrapped(line, width)]


def _grid_lines(row: list[list[str]], widths: list[int], grid: Grid) -> list[str]:
    lines = []
    for parts in zip_longest(*row, fillvalue=""):
        columns = zip(parts, widths, grid.alignments, strict=True)
        lines.append(_SEPARATOR.join(aligned(*column) for column in columns).rstrip())
    return lines


def _as_records(grid: Grid, cells: Cells) -> _CodeText:
    """Write `header: value` line by line, with a blank line after each row."""
    if not grid.header:
        return _CodeText([], [_record([""] * grid.width, row) for row in cells])
    names = [" ".join(lines) for lines in cells[0]]
    labels = [_label(name) for name in names]
    rows = [_record(labels, row) for row in cells[1:]]
    told = {i for row in cells[1:] for i, (first, *_) in enumerate(row) if first}
    if labels != names or any(name and i not in told for i, name in enumerate(names)):
        rows.insert(0, [*(name for name in names if name), ""])
    return _CodeText([], rows)


def _label(name: str) -> str:
    """Shorten a long column name, because every row repeats it."""
    if len(name) <= _LONGEST_LABEL:
        return name
    return name[: grapheme_edge(name, 0, _LONGEST_LABEL)] + "…"


def _record(labels: list[str], row: list[list[str]]) -> list[str]:
    lines = []
    for label, (first, *others) in zip(labels, row, strict=True):
        if first:
            lines.append(f"{label}: {first}" if label else first)
            lines += [f"  {line}" for line in others]
    return [*(lines or ["-"]), ""]


def _pages(text: _CodeText, room: int) -> Iterator[list[str]]:
    """Yield the lines of each message. A row stays whole if it fits into one message."""
    header, rows = text.header, text.rows
    if _length(header) > room // 2:
        header, rows = [], [header, *rows]
    limit = room - _length(header)
    page: list[str] = []
    left = limit
    for block in _blocks(rows, limit):
        length = _length(block)
        if page and length > left:
            yield [*header, *page]
            page, left = [], limit
        page += block
        left -= length
    if page or header:
        yield [*header, *page]


def _blocks(rows: list[list[str]], limit: int) -> Iterator[list[str]]:
    for row in rows:
        if _length(row) <= limit:
            yield row
        else:
            yield from ([part] for line in row for part in _cut(line, limit - 1))


def _cut(line: str, limit: int) -> Iterator[str]:
    """Split a long line into parts that pack well. A word is cut only if it is too long."""
    part: list[str] = []
    length = 0
    for word in _WORD.findall(line):
        for piece in _word_parts(word, limit):
            need = utf16_len(piece)
            if part and length + need > min(limit, _PARAGRAPH):
                yield "".join(part).rstrip()
                part, length = [], 0
            part.append(piece)
            length += need
    yield "".join(part).rstrip()


def _word_parts(word: str, limit: int) -> Iterator[str]:
    start = 0
    while utf16_len(ahead := word[start : start + limit + 1]) > limit:
        end = grapheme_edge(ahead, 0, utf16_offset(ahead, 0, limit))
        yield ahead[:end]
        start += end
    yield ahead


def _length(lines: Sequence[str]) -> int:
    return sum(utf16_len(line) + 1 for line in lines)
