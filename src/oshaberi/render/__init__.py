"""Tables for people: pictures if the fonts are installed, aligned code otherwise.

`table_grid` makes a table rectangular, `cells` parses each cell (`styled_spans`), `fonts` and
`column_widths` measure, `png` draws; `render_result` is the result. `text_forms` has the table as
code and as alt text.

Importing this package is cheap: what a function needs (Pillow, the fonts) is loaded when it is
called.
"""

from __future__ import annotations

from oshaberi.events import Table
from oshaberi.render.render_result import (
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
        from oshaberi.render.png import table_png
    except ImportError as missing:
        raise RenderUnavailableError from missing
    return table_png.render(table, theme, most_pictures)


def can_draw(table: Table) -> bool:
    """Tell whether the fonts have the table's characters. If not, text in Discord looks better."""
    try:
        from oshaberi.render.png import table_png
    except ImportError:
        return False
    return table_png.can_draw(table)


def alt_text(table: Table) -> str:
    """Describe the table in words, row by row, for readers who cannot see the picture."""
    from oshaberi.render.text_forms import alt_text

    return alt_text.alt_text(table)


def table_as_code(table: Table, max_length: int) -> list[str]:
    """Write the table as aligned code blocks: the fallback that never fails."""
    from oshaberi.render.text_forms import code_fallback

    return code_fallback.table_as_code(table, max_length)
