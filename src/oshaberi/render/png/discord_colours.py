"""Discord's colours, dark and light."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.render.render_result import Theme

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
