"""Reads which characters a font file has, from its `cmap` table.

Pillow draws an empty box for a missing glyph and cannot be asked beforehand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path


def characters_of(path: Path) -> frozenset[int]:
    """Return every code point with a glyph, from the subtable that covers most of Unicode."""
    with path.open("rb") as file:
        (count,) = struct.unpack(">4xH6x", file.read(12))
        for _ in range(count):
            tag, offset, length = struct.unpack(">4s4xLL", file.read(16))
            if tag == b"cmap":
                file.seek(offset)
                return frozenset(_read(file.read(length)))
    return frozenset()


def _read(cmap: bytes) -> Iterator[int]:
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
