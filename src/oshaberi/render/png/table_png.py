"""Makes PNG files of a table. The only module that needs Pillow and all fonts."""

from __future__ import annotations

from io import BytesIO

from oshaberi.events import Table
from oshaberi.render.cells.cell_markdown import plain_text
from oshaberi.render.cells.line_shaping import clean, emoji_free
from oshaberi.render.fonts.font_faces import known
from oshaberi.render.png.discord_colours import PALETTES, TablePalette
from oshaberi.render.png.page_drawing import Canvas
from oshaberi.render.png.page_layout import LEAST_ROW_HEIGHT, MAX_HEIGHT, TablePage, lay_out
from oshaberi.render.render_result import (
    Picture,
    RenderUnavailableError,
    Theme,
    TooManyPicturesError,
)
from oshaberi.render.table_grid import MOST_LAID_OUT, grid_of

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
    """Tell whether the fonts have all but a few of the table's characters.

    Only the first characters are looked at.
    """
    text = "".join(plain_text(cell) for row in grid_of(table).lines for cell in row)[:MOST_LAID_OUT]
    try:
        seen = [character for character in emoji_free(clean(text)) if not character.isspace()]
        unknown = sum(not known(character) for character in seen)
    except RenderUnavailableError:
        return False
    return unknown <= _MOST_UNKNOWN * len(seen)


def _picture(page: TablePage, palette: TablePalette) -> Picture:
    image = Canvas(page, palette).draw()
    file = BytesIO()
    image.save(file, "PNG", compress_level=_COMPRESSION)
    return Picture(file.getvalue(), image.width, image.height)
