"""Draws a laid-out page as pixels."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from PIL import Image, ImageDraw

from oshaberi.render.cells.line_shaping import ShapedPiece
from oshaberi.render.fonts.twemoji import SIZE, emoji_picture, is_ink
from oshaberi.render.png.discord_colours import Colour, TablePalette
from oshaberi.render.png.line_wrapping import LaidOutLine
from oshaberi.render.png.page_layout import (
    BORDER,
    LINE,
    PAD_X,
    PAD_Y,
    SCALE,
    TablePage,
    TableRow,
)
from oshaberi.render.styled_spans import CellMark

_RADIUS = 8 * SCALE
_BASELINE = 32
_EMOJI_TOP = (LINE - SIZE) // 2
_SMOOTH = 4
_BADGES = CellMark.CODE | CellMark.MENTION


class Canvas:
    """One picture that is being drawn."""

    def __init__(self, page: TablePage, palette: TablePalette) -> None:
        self._page = page
        self._palette = palette
        self._image = Image.new("RGB", (page.width, page.height), palette.background)
        self._pen = ImageDraw.Draw(self._image)

    def draw(self) -> Image.Image:
        """Draw every row from the top, then the frame."""
        top = BORDER
        for i, row in enumerate(self._page.rows):
            self._row(row, top, i)
            top += row.height + BORDER
        self._pen.rounded_rectangle(
            (0, 0, self._page.width - 1, self._page.height - 1),
            _RADIUS,
            outline=self._palette.line,
            width=BORDER,
        )
        self._image.putalpha(_mask(self._page.width, self._page.height))
        return self._image

    def _row(self, row: TableRow, top: int, number: int) -> None:
        right = self._page.width - 1
        bottom = top + row.height
        if row.is_header:
            self._pen.rectangle((0, top - BORDER, right, bottom), self._palette.header)
        if number and not row.continues:
            self._pen.rectangle((0, top - BORDER, right, top - 1), self._palette.line)
        left = BORDER
        columns = zip(row.cells, self._page.widths, self._page.alignments, strict=True)
        for lines, width, alignment in columns:
            slack = {"right": 1.0, "center": 0.5}.get(alignment, 0.0)
            for i, line in enumerate(lines):
                x = left + PAD_X + slack * max(0.0, width - 2 * PAD_X - line.width)
                self._line(line, x, top + PAD_Y + i * LINE, row.is_header)
            left += width

    def _line(self, line: LaidOutLine, x: float, top: int, is_header: bool) -> None:
        ends = x
        for badge, group in groupby(line.pieces, key=lambda piece: piece.marks & _BADGES):
            pieces = list(group)
            starts, ends = ends, ends + sum(piece.width for piece in pieces)
            if badge:
                self._badge(starts, ends, top, badge)
        for piece in line.pieces:
            self._piece(piece, x, top, is_header)
            x += piece.width

    def _badge(self, left: float, right: float, top: int, badge: CellMark) -> None:
        is_code = CellMark.CODE in badge
        self._pen.rounded_rectangle(
            (round(left), top + 3, round(right) - 1, top + LINE - 4),
            4 * SCALE,
            fill=self._palette.code if is_code else self._palette.mention,
            outline=self._palette.code_line if is_code else None,
            width=1,
        )

    def _piece(self, piece: ShapedPiece, x: float, top: int, is_header: bool) -> None:
        if piece.emoji:
            picture = emoji_picture(piece.emoji)
            source = self._palette.text if is_ink(piece.emoji) else picture
            self._image.paste(source, (round(x), top + _EMOJI_TOP), picture)
        elif piece.face:
            self._pen.text(
                (x, top + _BASELINE),
                piece.text,
                fill=self._colour(piece.marks, is_header),
                font=piece.face.font,
                anchor="ls",
                features=piece.face.features,
                stroke_width=piece.face.stroke,
            )
        if piece.marks & (CellMark.STRIKE | CellMark.UNDERLINE):
            self._rules(piece, x, top, self._colour(piece.marks, is_header))

    def _rules(self, piece: ShapedPiece, x: float, top: int, colour: Colour) -> None:
        right = round(x + piece.width) - 1
        if CellMark.STRIKE in piece.marks:
            self._pen.rectangle((round(x), top + 21, right, top + 22), colour)
        if CellMark.UNDERLINE in piece.marks:
            self._pen.rectangle((round(x), top + 36, right, top + 37), colour)

    def _colour(self, marks: CellMark, is_header: bool) -> Colour:
        if CellMark.LINK in marks:
            return self._palette.link
        if CellMark.MENTION in marks:
            return self._palette.mention_text
        return self._palette.strong if is_header or CellMark.BOLD in marks else self._palette.text


@lru_cache(maxsize=8)
def _mask(width: int, height: int) -> Image.Image:
    """Return a mask with transparent corners, so that the chat's background shows through."""
    mask = Image.new("L", (width, height), 255)
    corner = _corner()
    size = corner.width
    for turns, spot in enumerate(
        [(0, 0), (0, height - size), (width - size, height - size), (width - size, 0)]
    ):
        mask.paste(corner.rotate(90 * turns), spot)
    return mask


@lru_cache(maxsize=1)
def _corner() -> Image.Image:
    big = Image.new("L", (_RADIUS * _SMOOTH, _RADIUS * _SMOOTH), 0)
    side = 2 * _RADIUS * _SMOOTH
    ImageDraw.Draw(big).ellipse((0, 0, side - 1, side - 1), fill=255)
    return big.resize((_RADIUS, _RADIUS), Image.Resampling.LANCZOS)
