"""Lays a table out in pixels: column widths, wrapped lines, rows, pages. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

from oshaberi.events import Alignment
from oshaberi.render.cell_markdown import CellMark, parse_cell
from oshaberi.render.grid import Grid, share
from oshaberi.render.line_shaping import ShapedPiece, ShapedUnit, shape, shatter

# The text of a cell is wrapped into lines that fit its column.


@dataclass(frozen=True, slots=True)
class LaidOutLine:
    """One line of a cell."""

    pieces: tuple[ShapedPiece, ...]
    width: float


def wrap(cell: list[list[ShapedUnit]], limit: float) -> tuple[LaidOutLine, ...]:
    """Return the lines of a cell, none of them wider than `limit` pixels."""
    return tuple(line for paragraph in cell for line in _wrap_paragraph(paragraph, limit))


def _wrap_paragraph(units: list[ShapedUnit], limit: float) -> list[LaidOutLine]:
    lines: list[list[ShapedUnit]] = [[]]
    left = limit
    for unit in units:
        for part in [unit] if unit.width <= limit or unit.is_space else shatter(unit, limit):
            if part.width > left and lines[-1] and not part.is_space:
                lines.append([])
                left = limit
            if lines[-1] or not part.is_space:
                lines[-1].append(part)
                left -= part.width
    return [_line(line) for line in lines]


def _line(units: list[ShapedUnit]) -> LaidOutLine:
    end = len(units)
    while end and units[end - 1].is_space:
        end -= 1
    pieces: list[ShapedPiece] = []
    parts = (piece for unit in units[:end] for piece in unit.pieces)
    for look, group in groupby(parts, key=lambda piece: (piece.face, piece.marks)):
        alike = list(group)
        pieces += [_join(alike)] if look[0] else alike
    return LaidOutLine(tuple(pieces), sum(piece.width for piece in pieces))


def _join(pieces: list[ShapedPiece]) -> ShapedPiece:
    """Join pieces of one style into one piece."""
    text = "".join(piece.text for piece in pieces)
    return replace(pieces[0], text=text, width=sum(piece.width for piece in pieces))


# Rows and pages.


SCALE = 2
BORDER = 1 * SCALE
PAD_X = 14 * SCALE
PAD_Y = 9 * SCALE
LINE = 22 * SCALE
MAX_HEIGHT = 2000
LEAST_ROW_HEIGHT = LINE + 2 * PAD_Y
MAX_WIDTH = 1200 * SCALE
PREFERRED_WIDTH = 720 * SCALE
"""Beyond this width cells wrap, because wider pictures are shrunk below reading size on a phone."""
_NEARLY = 1.15
_WHOLE_WORD = 150 * SCALE
_NARROWEST = 70 * SCALE
_MAX_HEADER = MAX_HEIGHT // 3


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row; `cells` holds the lines of each column."""

    cells: tuple[tuple[LaidOutLine, ...], ...]
    is_header: bool = False
    continues: bool = False
    """The row continues from the picture before, so no line is drawn above it."""

    @property
    def height(self) -> int:
        return max(1, *(len(lines) for lines in self.cells), 1) * LINE + 2 * PAD_Y


@dataclass(frozen=True, slots=True)
class TablePage:
    """The rows and column widths of one picture."""

    rows: tuple[TableRow, ...]
    widths: tuple[int, ...]
    """The widths of the columns, with their padding."""
    alignments: tuple[Alignment, ...]

    @property
    def width(self) -> int:
        return sum(self.widths) + 2 * BORDER

    @property
    def height(self) -> int:
        return sum(row.height for row in self.rows) + BORDER * (len(self.rows) + 1)


@dataclass(frozen=True, slots=True)
class _ColumnLayout:
    """The shaped cells of a column (the header first) and the widths it needs."""

    cells: list[list[list[ShapedUnit]]]
    natural: float
    word: float
    alignment: Alignment


def lay_out(grid: Grid) -> list[TablePage]:
    """Split the table into pages, by height and by groups of columns that fit side by side."""
    columns = [_column(grid, i) for i in range(grid.width)]
    return [
        page
        for group in _column_groups(columns)
        for page in _paginate(group, has_header=bool(grid.header))
    ]


def _column(grid: Grid, i: int) -> _ColumnLayout:
    cells = [shape(parse_cell(row[i]), CellMark.PLAIN) for row in grid.rows]
    if grid.header:
        cells.insert(0, shape(parse_cell(grid.header[i]), CellMark.BOLD))
    paragraphs = [paragraph for cell in cells for paragraph in cell]
    natural = max((_natural(paragraph) for paragraph in paragraphs), default=0.0)
    word = max((unit.width for paragraph in paragraphs for unit in paragraph), default=0.0)
    return _ColumnLayout(cells, max(natural, 1.0), word, grid.alignments[i])


def _natural(paragraph: list[ShapedUnit]) -> float:
    return sum(unit.width for unit in paragraph) + 1.0


def _column_groups(columns: list[_ColumnLayout]) -> Iterator[list[_ColumnLayout]]:
    """Yield groups of columns that fit side by side. Each repeats the first column."""
    group: list[_ColumnLayout] = []
    room = MAX_WIDTH - 2 * BORDER
    for column in columns:
        need = ceil(_narrowest(column)) + 2 * PAD_X
        if group and need > room:
            yield group
            group = [columns[0]]
            room = MAX_WIDTH - 2 * BORDER - ceil(_narrowest(columns[0])) - 2 * PAD_X
        group.append(column)
        room -= need
    yield group


def _narrowest(column: _ColumnLayout) -> float:
    return min(column.word + 1.0, _NARROWEST)


def _text_widths(columns: list[_ColumnLayout]) -> list[int]:
    """Return the text width of each column. Words stay whole while the picture may grow."""
    padding = 2 * BORDER + 2 * PAD_X * len(columns)
    natural = [column.natural for column in columns]
    whole = [min(column.word + 1.0, _WHOLE_WORD, column.natural) for column in columns]
    available = min(max(sum(whole), PREFERRED_WIDTH - padding), MAX_WIDTH - padding)
    if sum(whole) > available:
        whole = [min(_narrowest(column), column.natural) for column in columns]
    if sum(natural) + padding <= _NEARLY * PREFERRED_WIDTH:
        available = sum(natural)
    return [max(1, int(width)) for width in share(natural, whole, available)]


def _paginate(columns: list[_ColumnLayout], *, has_header: bool) -> list[TablePage]:
    widths = _text_widths(columns)
    rows = [
        TableRow(tuple(wrap(cell, width) for cell, width in zip(cells, widths, strict=True)))
        for cells in zip(*(column.cells for column in columns), strict=True)
    ]
    outer = tuple(width + 2 * PAD_X for width in _tighten(widths, rows))
    header: tuple[TableRow, ...] = ()
    if has_header:
        rows[0] = replace(rows[0], is_header=True)
        # A huge header is drawn only once, like a row: repeating it would leave no room.
        if rows[0].height <= _MAX_HEADER:
            header, rows = (rows[0],), rows[1:]
    room = MAX_HEIGHT - BORDER - sum(row.height + BORDER for row in header)
    alignments = tuple(column.alignment for column in columns)
    return [
        TablePage((*header, *page), outer, alignments)
        for page in _pages([part for row in rows for part in _row_parts(row, room)], room)
    ]


def _tighten(widths: list[int], rows: list[TableRow]) -> list[int]:
    """Reduce each width to its longest line, since wrapping leaves space at the ends."""
    used = [1.0] * len(widths)
    for row in rows:
        for i, lines in enumerate(row.cells):
            used[i] = max(used[i], *(line.width for line in lines), 1.0)
    return [min(width, ceil(need)) for width, need in zip(widths, used, strict=True)]


def _row_parts(row: TableRow, room: int) -> Iterator[TableRow]:
    """Yield the row, or several parts of it if it is taller than a page."""
    if row.height + BORDER <= room:
        yield row
        return
    step = (room - BORDER - 2 * PAD_Y) // LINE
    for start in range(0, max(len(lines) for lines in row.cells), step):
        cells = tuple(lines[start : start + step] for lines in row.cells)
        yield TableRow(cells, row.is_header, continues=start > 0)


def _pages(rows: list[TableRow], room: int) -> list[tuple[TableRow, ...]]:
    """Distribute the rows over as few pages as possible, of about equal height."""
    pages = _fill(rows, room)
    low, high = max((row.height + BORDER for row in rows), default=0), room
    while len(pages) > 1 and low < high:
        middle = (low + high) // 2
        if len(_fill(rows, middle)) > len(pages):
            low = middle + 1
        else:
            high = middle
    return _fill(rows, high)


def _fill(rows: Sequence[TableRow], room: int) -> list[tuple[TableRow, ...]]:
    pages: list[list[TableRow]] = [[]]
    left = room
    for row in rows:
        height = row.height + BORDER
        if pages[-1] and height > left:
            pages.append([])
            left = room
        pages[-1].append(row)
        left -= height
    return [tuple(page) for page in pages]
