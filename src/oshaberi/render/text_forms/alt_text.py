"""Describes a table for screen readers: row by row, every value with its column's name."""

from __future__ import annotations

from dataclasses import replace

from oshaberi.events import Table
from oshaberi.render.table_grid import grid_of
from oshaberi.render.text_forms.monospace_text import cell_lines
from oshaberi.text.text_measure import grapheme_edge, utf16_len, utf16_offset

MAX_ALT_TEXT = 1024
_ROOM_FOR_REST = len("\n… (+1000000)")
_LONGEST_CELL = 4 * MAX_ALT_TEXT
"""Of a longer cell only this much is read: most of it is left out anyway."""


def alt_text(table: Table) -> str:
    """Describe the table in at most 1024 characters, Discord's limit.

    If it is too long, the end says how much was left out.
    """
    grid = grid_of(replace(table, rows=table.rows[:MAX_ALT_TEXT]))
    names = [_spoken(cell) for cell in grid.header or [""] * grid.width]
    rows = (
        (_row(names, row) for row in grid.rows) if grid.rows else [", ".join(filter(None, names))]
    )
    told: list[str] = []
    length = 0
    for row in rows:
        told.append(row)
        length += utf16_len(row) + 1
        if length > MAX_ALT_TEXT + _ROOM_FOR_REST:
            break  # the other rows need not be read
    whole = "\n".join(filter(None, told))
    count = max(1, len(table.rows))
    if len(told) == count and utf16_len(whole) <= MAX_ALT_TEXT:
        return whole
    return _shortened(told, count)


def _shortened(rows: list[str], count: int) -> str:
    room = MAX_ALT_TEXT - _ROOM_FOR_REST
    told: list[str] = []
    for row in rows:
        room -= utf16_len(row) + 1
        if room < 0:
            break
        told.append(row)
    if told:
        return "\n".join([*filter(None, told), f"… (+{count - len(told)})"])
    return _cut(rows[0]) + (f" (+{count - 1})" if count > 1 else "")


def _cut(row: str) -> str:
    end = utf16_offset(row, 0, MAX_ALT_TEXT - _ROOM_FOR_REST)
    return row[: grapheme_edge(row, 0, end)].rstrip() + "…"


def _row(names: list[str], row: tuple[str, ...]) -> str:
    values = ((name, _spoken(cell)) for name, cell in zip(names, row, strict=True))
    return ", ".join(f"{name}: {value}" if name else value for name, value in values if value)


def _spoken(cell: str) -> str:
    return " ".join(cell_lines(cell[:_LONGEST_CELL])).strip()
