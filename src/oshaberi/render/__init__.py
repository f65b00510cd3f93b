"""Tables for people: pictures where the fonts are installed, aligned code where they are not.

Importing this costs nothing: Pillow and the fonts are loaded with the first picture.
"""

from __future__ import annotations

from oshaberi.events import Table
from oshaberi.render.alt import alt_text
from oshaberi.render.code_fallback import table_as_code
from oshaberi.render.picture import Picture, RenderUnavailableError, Theme

__all__ = [
    "Picture",
    "RenderUnavailableError",
    "Theme",
    "alt_text",
    "can_draw",
    "render_table",
    "table_as_code",
]


def render_table(table: Table, theme: Theme = "dark") -> list[Picture]:
    """The table as one picture, or several where it is too tall or has too many columns."""
    try:
        from oshaberi.render import paint
    except ImportError as missing:
        raise RenderUnavailableError from missing
    return paint.render(table, theme)


def can_draw(table: Table) -> bool:
    """Whether the fonts know the table's characters: Discord itself shows the others better."""
    try:
        from oshaberi.render import paint
    except ImportError:
        return False
    return paint.can_draw(table)
