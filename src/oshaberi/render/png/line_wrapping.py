"""Wraps the text of a cell into lines that fit its column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

from oshaberi.render.cells.line_shaping import ShapedPiece, ShapedUnit, shatter


@dataclass(frozen=True, slots=True)
class LaidOutLine:
    """One line of a cell."""

    pieces: tuple[ShapedPiece, ...]
    width: float


def wrapped(cell: list[list[ShapedUnit]], limit: float) -> tuple[LaidOutLine, ...]:
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
        pieces += [_joined(alike)] if look[0] else alike
    return LaidOutLine(tuple(pieces), sum(piece.width for piece in pieces))


def _joined(pieces: list[ShapedPiece]) -> ShapedPiece:
    """Join pieces of one style into one piece."""
    text = "".join(piece.text for piece in pieces)
    return replace(pieces[0], text=text, width=sum(piece.width for piece in pieces))
