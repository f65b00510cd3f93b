"""Tables for people: pictures if the fonts are installed, aligned code otherwise.

`grid` makes a table rectangular, `cell_markdown` parses each cell, `line_shaping` measures it
with `fonts`, `twemoji` and `grapheme_clusters`, `layout` and `drawing` make the picture.
`text_forms` has the table as code and as alt text.

Importing this package is cheap: what a function needs (Pillow, the fonts) is loaded when it is
called.
"""

from __future__ import annotations

from oshaberi.events import Table
from oshaberi.render.grid import (
    Picture,
    RenderUnavailableError,
    Theme,
    TooManyPicturesError,
)

__all__ = [
    "Picture",
    "RenderUnavailableError",
    "Theme",
    "TooManyPicturesError",
    "alt_text",
    "can_draw",
    "render_table",
    "table_as_code",
]


def render_table(
    table: Table, theme: Theme = "dark", most_pictures: int | None = None
) -> list[Picture]:
    """Draw the table as one picture, or as several if it is too tall or has too many columns.

    Raises TooManyPicturesError, and draws nothing, if it needs more than `most_pictures`. Raises
    RenderUnavailableError without Pillow or fonts.
    """
    try:
        from oshaberi.render import drawing
    except ImportError as missing:
        raise RenderUnavailableError from missing
    return drawing.render(table, theme, most_pictures)


def can_draw(table: Table) -> bool:
    """Return whether the fonts have the table's characters. If not, text looks better."""
    try:
        from oshaberi.render import drawing
    except ImportError:
        return False
    return drawing.can_draw(table)


def alt_text(table: Table) -> str:
    """Describe the table in words, row by row, for readers who cannot see the picture."""
    from oshaberi.render import text_forms

    return text_forms.alt_text(table)


def table_as_code(table: Table, max_length: int) -> list[str]:
    """Write the table as aligned code blocks: the fallback that never fails."""
    from oshaberi.render import text_forms

    return text_forms.table_as_code(table, max_length)
