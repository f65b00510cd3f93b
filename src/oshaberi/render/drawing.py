"""Draws a laid-out table as PNG files, in Discord's colours. Needs Pillow and all fonts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import groupby

from PIL import Image, ImageDraw

from oshaberi.events import Table
from oshaberi.render.cell_markdown import CellMark, plain_text
from oshaberi.render.fonts import has_glyph
from oshaberi.render.grid import (
    MOST_LAID_OUT,
    Picture,
    RenderUnavailableError,
    Theme,
    TooManyPicturesError,
    grid_of,
)
from oshaberi.render.layout import (
    BORDER,
    LEAST_ROW_HEIGHT,
    LINE,
    MAX_HEIGHT,
    PAD_X,
    PAD_Y,
    SCALE,
    LaidOutLine,
    TablePage,
    TableRow,
    lay_out,
)
from oshaberi.render.line_shaping import ShapedPiece, clean, emoji_free
from oshaberi.render.twemoji import SIZE, emoji_picture, is_ink

# Discord's colours, dark and light.


Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TablePalette:
    """All colours of a picture."""

    background: Colour
    header: Colour
    line: Colour
    text: Colour
    strong: Colour
    link: Colour
    code: Colour
    code_line: Colour
    mention: Colour
    mention_text: Colour


PALETTES: dict[Theme, TablePalette] = {
    "dark": TablePalette(
        background=(0x2B, 0x2D, 0x31),
        header=(0x1E, 0x1F, 0x22),
        line=(0x3F, 0x41, 0x47),
        text=(0xDB, 0xDE, 0xE1),
        strong=(0xF2, 0xF3, 0xF5),
        link=(0x00, 0xA8, 0xFC),
        code=(0x1E, 0x1F, 0x22),
        code_line=(0x3A, 0x3C, 0x42),
        mention=(0x3C, 0x42, 0x70),
        mention_text=(0xC9, 0xCD, 0xFB),
    ),
    "light": TablePalette(
        background=(0xFF, 0xFF, 0xFF),
        header=(0xEB, 0xED, 0xEF),
        line=(0xDB, 0xDD, 0xE1),
        text=(0x31, 0x33, 0x38),
        strong=(0x06, 0x06, 0x07),
        link=(0x00, 0x6C, 0xE7),
        code=(0xF2, 0xF3, 0xF5),
        code_line=(0xDE, 0xE0, 0xE4),
        mention=(0xE6, 0xE8, 0xFD),
        mention_text=(0x50, 0x5C, 0xDC),
    ),
}


# A page as pixels.


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


# The PNG files. This is the only module that needs Pillow and all fonts.


_COMPRESSION = 3
_MOST_UNKNOWN = 0.02


def render(table: Table, theme: Theme, most_pictures: int | None = None) -> list[Picture]:
    """Draw every page of the table. Equal tables give equal bytes."""
    palette = PALETTES[theme]
    return [_picture(page, palette) for page in _pages(table, most_pictures)]


def _pages(table: Table, most: int | None) -> list[TablePage]:
    """Lay out the pages, or raise TooManyPicturesError.

    The rows are counted first, because laying out thousands of them takes seconds.
    """
    if len(table.source) > MOST_LAID_OUT:
        raise TooManyPicturesError
    if most is not None and len(table.rows) * LEAST_ROW_HEIGHT > most * MAX_HEIGHT:
        raise TooManyPicturesError
    pages = lay_out(grid_of(table))
    if most is not None and len(pages) > most:
        raise TooManyPicturesError
    return pages


def can_draw(table: Table) -> bool:
    """Return whether the fonts have all but a few of the table's characters.

    Only the first characters are looked at.
    """
    text = "".join(plain_text(cell) for row in grid_of(table).lines for cell in row)[:MOST_LAID_OUT]
    try:
        seen = [character for character in emoji_free(clean(text)) if not character.isspace()]
        unknown = sum(not has_glyph(character) for character in seen)
    except RenderUnavailableError:
        return False
    return unknown <= _MOST_UNKNOWN * len(seen)


def _picture(page: TablePage, palette: TablePalette) -> Picture:
    image = Canvas(page, palette).draw()
    file = BytesIO()
    image.save(file, "PNG", compress_level=_COMPRESSION)
    return Picture(file.getvalue(), image.width, image.height)
