"""Loads the fonts once, and chooses for each cluster the first font that has it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from PIL import ImageFont, features

from oshaberi.package_assets import AssetError, font_file
from oshaberi.render.cell_markdown import CellMark
from oshaberi.render.grid import RenderUnavailableError

# Which characters a font file has, from its `cmap` table: Pillow draws an empty box for a missing
# glyph and cannot be asked beforehand.


def characters_of(path: Path) -> frozenset[int]:
    """Return every code point with a glyph, from the subtable that covers most of Unicode."""
    with path.open("rb") as file:
        (count,) = struct.unpack(">4xH6x", file.read(12))
        for _ in range(count):
            tag, offset, length = struct.unpack(">4s4xLL", file.read(16))
            if tag == b"cmap":
                file.seek(offset)
                return frozenset(_code_points(file.read(length)))
    return frozenset()


def _code_points(cmap: bytes) -> Iterator[int]:
    (count,) = struct.unpack_from(">2xH", cmap)
    offsets = [struct.unpack_from(">4xL", cmap, 4 + 8 * i)[0] for i in range(count)]
    by_format = {struct.unpack_from(">H", cmap, at)[0]: at for at in offsets}
    if 12 in by_format:
        yield from _groups(cmap, by_format[12])
    elif 4 in by_format:
        yield from _segments(cmap, by_format[4])


def _groups(cmap: bytes, at: int) -> Iterator[int]:
    """Yield the code points of format 12: ranges over all planes."""
    (count,) = struct.unpack_from(">12xL", cmap, at)
    for i in range(count):
        first, last = struct.unpack_from(">LL", cmap, at + 16 + 12 * i)
        yield from range(first, last + 1)


def _segments(cmap: bytes, at: int) -> Iterator[int]:
    """Yield the code points of format 4: ranges of the first plane.

    Some ranges have an array; glyph 0 in it means that the character is missing.
    """
    (double,) = struct.unpack_from(">6xH", cmap, at)
    ends, starts, jumps = at + 14, at + 16 + double, at + 16 + 3 * double
    for i in range(0, double, 2):
        (last,) = struct.unpack_from(">H", cmap, ends + i)
        (first,) = struct.unpack_from(">H", cmap, starts + i)
        (jump,) = struct.unpack_from(">H", cmap, jumps + i)
        for code in range(first, min(last, 0xFFFE) + 1):
            glyph = jumps + i + jump + 2 * (code - first)
            if not jump or cmap[glyph : glyph + 2] != b"\0\0":
                yield code


# The fonts, in the order in which they are tried.


TEXT_PX = 32
CODE_PX = 27
_REGULAR, _BOLD = 400, 700

_SANS = ("fontpkg_noto_sans", "files/NotoSans[wdth,wght].ttf")
_SANS_ITALIC = ("fontpkg_noto_sans", "files/NotoSans-Italic[wdth,wght].ttf")
_MONO = ("fontpkg_jetbrains_mono", "files/JetBrainsMono[wght].ttf")
_MONO_ITALIC = ("fontpkg_jetbrains_mono", "files/JetBrainsMono-Italic[wght].ttf")
_CJK = ("noto_cjk_sans_jp_regular", "NotoSansCJKjp-Regular.otf")

# Joiners and variation selectors never have a glyph of their own to look for.
_SILENT = frozenset({0x200C, 0x200D, *range(0xFE00, 0xFE10), *range(0xE0020, 0xE0080)})


@dataclass(frozen=True, slots=True, eq=False)
class FontFace:
    """A font at a size and weight, and the characters it can draw."""

    font: ImageFont.FreeTypeFont
    characters: frozenset[int]
    stroke: float = 0.0
    """Width of the outline that imitates bold, if the font has no bold weight."""
    features: list[str] | None = None


def faces_for(marks: CellMark) -> tuple[FontFace, ...]:
    """Return the font faces to try for text in this style, best first."""
    return _faces(CellMark.CODE in marks, CellMark.BOLD in marks, CellMark.ITALIC in marks)


def face_of(cluster: str, faces: tuple[FontFace, ...]) -> FontFace:
    """Return the face for a cluster.

    This is the first that has all its characters, else the first that has its first character,
    else the first face.
    """
    needed = {ord(character) for character in cluster} - _SILENT
    for face in faces:
        if needed <= face.characters:
            return face
    first = ord(cluster[0])
    return next((face for face in faces if first in face.characters), faces[0])


def has_glyph(character: str) -> bool:
    """Return whether any font has the character."""
    code = ord(character)
    return code in _SILENT or any(code in face.characters for face in faces_for(CellMark.PLAIN))


@lru_cache(maxsize=16384)
def advance(face: FontFace, text: str) -> float:
    """Return the width of the text in pixels."""
    return face.font.getlength(text, features=face.features) + face.stroke


@cache
def _faces(code: bool, bold: bool, italic: bool) -> tuple[FontFace, ...]:
    weight = _BOLD if bold else _REGULAR
    size = CODE_PX if code else TEXT_PX
    sans = _face(_SANS_ITALIC if italic else _SANS, size, weight)
    cjk = _face(_CJK, size, weight)
    mono = _face(_MONO_ITALIC if italic else _MONO, size, weight)
    return (mono, sans, cjk) if code else (sans, cjk, mono)


@cache
def _face(file: tuple[str, str], size: int, weight: int) -> FontFace:
    try:
        path = font_file(*file)
        font = ImageFont.truetype(path, size)
    except (AssetError, OSError) as unusable:
        raise RenderUnavailableError(str(unusable)) from None
    if file is _CJK:  # this package has only the regular weight
        return FontFace(font, _characters(path), stroke=size / 40 if weight == _BOLD else 0.0)
    axes = font.get_variation_axes()
    font.set_variation_by_axes([weight, *(axis["default"] or 0 for axis in axes[1:])])
    # In code `!=` is two characters, not a ligature. Only Raqm makes ligatures and can be told not
    # to.
    exact = features.check("raqm") and file in (_MONO, _MONO_ITALIC)
    return FontFace(font, _characters(path), features=["-calt", "-liga"] if exact else None)


@cache
def _characters(path: Path) -> frozenset[int]:
    return characters_of(path)
