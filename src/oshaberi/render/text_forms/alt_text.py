"""Describes a table for screen readers: row by row, every value with its column's name."""

from __future__ import annotations

from oshaberi.events import Table
from oshaberi.render.table_grid import grid_of
from oshaberi.render.text_forms.monospace_text import cell_lines
from oshaberi.text.text_measure import grapheme_edge, utf16_len, utf16_offset

MAX_ALT_TEXT = 1024
_ROOM_FOR_REST = len("\n… (+1000000)")


def alt_text(table: Table) -> str:
    """Describe the table in at most 1024 characters, Discord's limit.

    If it is too long, the end says how much was left out.
    """
    grid = grid_of(table)
    names = [_spoken(cell) for cell in grid.header or [""] * grid.width]
    rows = [_row(names, row) for row in grid.rows] or [", ".join(filter(None, names))]
    whole = "\n".join(filter(None, rows))
    if utf16_len(whole) <= MAX_ALT_TEXT:
        return whole
    return _shortened(rows)


def _shortened(rows: list[str]) -> str:
    room = MAX_ALT_TEXT - _ROOM_FOR_REST
    told: list[str] = []
    for row in rows:
        room -= utf16_len(row) + 1
        if room < 0:
            break
        told.append(row)
    if told:
        return "\n".join([*filter(None, told), f"… (+{len(rows) - len(told)})"])
    return _cut(rows[0]) + (f" (+{len(rows) - 1})" if len(rows) > 1 else "")


def _cut(row: str) -> str:
    end = utf16_offset(row, 0, MAX_ALT_TEXT - _ROOM_FOR_REST)
    return row[: grapheme_edge(row, 0, end)].rstrip() + "…"


def _row(names: list[str], row: tuple[str, ...]) -> str:
    values = ((name, _spoken(cell)) for name, cell in zip(names, row, strict=True))
    return ", ".join(f"{name}: {value}" if name else value for name, value in values if value)


def _spoken(cell: str) -> str:
    return " ".join(cell_lines(cell)).strip()
