"""A rectangular table, its column widths, and what the renderer returns or raises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from oshaberi.errors import OshaberiError
from oshaberi.events import Alignment, Table

# The renderer's result, and the errors it may raise.


Theme = Literal["dark", "light"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished PNG file and its size in pixels."""

    png: bytes
    width: int
    height: int


class RenderUnavailableError(OshaberiError):
    """Pillow, a font or the emoji pictures cannot be used. The table is sent as code."""

    def __init__(self, why: str = "") -> None:
        reason = f" ({why})" if why else ""
        super().__init__(f'tables cannot be drawn here{reason}: pip install "oshaberi[tables]"')


class TooManyPicturesError(OshaberiError):
    """The table needs more pictures than allowed. It is sent as a file."""

    def __init__(self) -> None:
        super().__init__("the table would take too many pictures")


# A rectangular table: short rows are filled up, nothing is cut off.


MOST_LAID_OUT = 15_000
"""A table with more characters is neither aligned nor drawn: measuring it takes too long. It is
sent as a file, or as it was written."""
_MOST_COLUMNS = 60
"""A limit, because a few thousand pipes in one row would make millions of empty cells."""
_MOST_CELLS = 8000
"""A limit, because a wide header above thousands of short rows would make as many."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of equal length. `header` is empty if all header cells of the table are blank."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alignments: tuple[Alignment, ...]

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """Return all rows, the header first."""
        return (self.header, *self.rows) if self.header else self.rows

    @property
    def width(self) -> int:
        """Return the number of columns, at least one."""
        return len(self.alignments)


def grid_of(table: Table) -> Grid:
    """Return the smallest grid that holds all cells of the table."""
    width = max(1, len(table.header), *(len(row) for row in table.rows), 1)
    width = min(width, _MOST_COLUMNS, max(1, _MOST_CELLS // (len(table.rows) + 1)))
    header = _fill(table.header, width)
    rows = tuple(_fill(row, width) for row in table.rows)
    missing: list[Alignment] = ["none"] * width
    alignments = (*table.alignments, *missing)[:width]
    named = any(cell.strip() for cell in header)
    if not named and not rows:
        rows = (header,)
    return Grid(header if named else (), rows, alignments)


def _fill(row: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Fill the row up to this width. Extra cells are joined to the last one, except blank ones."""
    cells = [cell.strip() for cell in row]
    while len(cells) > width and not cells[-1]:
        cells.pop()
    if len(cells) > width:
        cells[width - 1 :] = [" \\| ".join(cells[width - 1 :])]
    return (*cells, *("" for _ in range(width - len(cells))))


# Column widths, in pixels or in characters.


_STEPS = 40


def share(natural: Sequence[float], least: Sequence[float], available: float) -> list[float]:
    """Return widths between `least` and `natural` that add up to `available`, if possible.

    A column gets space by the square root of its natural width: a column with long text gets more
    than the others, but does not squeeze them.
    """
    if sum(natural) <= available:
        return list(natural)
    if sum(least) >= available:
        return list(least)
    low, high = 0.0, max(sqrt(want) for want in natural) + 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if sum(_widths(natural, least, middle)) > available:
            high = middle
        else:
            low = middle
    return _widths(natural, least, low)


def _widths(natural: Sequence[float], least: Sequence[float], factor: float) -> list[float]:
    return [
        min(want, max(need, factor * sqrt(want))) for want, need in zip(natural, least, strict=True)
    ]
