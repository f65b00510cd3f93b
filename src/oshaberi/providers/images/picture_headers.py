"""Reads a picture's format and size before it is decoded, and leaves only the picture itself.

Comments, profiles, thumbnails and later frames do not reach Pillow: it takes each of them apart in
Python, and warns about each tag that it does not like. A file with absurdly many parts raises
DamagedPictureError. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

PNG_START = b"\x89PNG\r\n\x1a\n"
MAGIC_LENGTH = 16

_MAGIC = (
    (PNG_START, "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
MOST_PARTS = 100_000
"""How many chunks, segments or blocks a file may have. 10 MB of GIF have 41 000 whole blocks."""
_PNG_PICTURE = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
_JPEG_SCAN = 0xDA
_JPEG_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_EXIF = 0xE1
_JPEG_SKIPPED = frozenset({*range(0xE1, 0xEE), 0xEF, 0xFE})
"""Comments and what applications store, but for JFIF and Adobe: they say how colours are stored."""
_EXIF_START = b"Exif\0\0"
_ORIENTATION = 0x0112
_MOST_TAGS = 500
_GIF_IMAGE, _GIF_EXTENSION, _GIF_END = 0x2C, 0x21, 0x3B
_GIF_CONTROL = 0xF9


class DamagedPictureError(Exception):
    """A file that no program writes."""


def image_type(start: bytes) -> str | None:
    """Return the type by the first bytes. The server's content type is not trusted."""
    for magic, mime_type in _MAGIC:
        if start.startswith(magic):
            return mime_type
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else None


def png_picture(raw: bytes) -> bytes:
    """Return a PNG without its texts, profiles and later frames."""
    return PNG_START + b"".join(raw[start:end] for start, end, _name in _png_chunks(raw))


def png_is_animated(raw: bytes) -> bool:
    return any(name == b"acTL" for _start, _end, name in _png_chunks(raw, frozenset({b"acTL"})))


def _png_chunks(
    raw: bytes, wanted: frozenset[bytes] = _PNG_PICTURE
) -> Iterator[tuple[int, int, bytes]]:
    start = len(PNG_START)
    parts = _Parts()
    while start + 8 <= len(raw):
        parts.count()
        name = raw[start + 4 : start + 8]
        end = start + 12 + int.from_bytes(raw[start : start + 4])
        if name in wanted:
            yield start, end, name
        start = end


def jpeg_picture(raw: bytes) -> bytes:
    """Return a JPEG without comments, profiles and thumbnails before its first scan."""
    kept = [raw[:2]]
    for start, end, marker in _jpeg_parts(raw):
        if marker == _JPEG_SCAN:
            return b"".join([*kept, raw[start:]])
        if marker not in _JPEG_SKIPPED:
            kept.append(raw[start:end])
    raise DamagedPictureError


def gif_picture(raw: bytes) -> bytes:
    """Return the first frame of a GIF, without comments."""
    if len(raw) < 13:
        raise DamagedPictureError
    at = 13 + _gif_colours(raw[10])
    header, control = raw[:at], b""
    parts = _Parts()
    while at + 10 < len(raw) and raw[at] != _GIF_END:
        parts.count()
        if raw[at] == _GIF_IMAGE:
            data = at + 11 + _gif_colours(raw[at + 9])
            return b"".join((header, control, raw[at : _gif_data_end(raw, data, parts)], b";"))
        if raw[at] != _GIF_EXTENSION:
            at += 1
            continue
        end = _gif_data_end(raw, at + 2, parts)
        if raw[at + 1] == _GIF_CONTROL:
            control = raw[at:end]
        at = end
    raise DamagedPictureError


def _gif_colours(flags: int) -> int:
    """Return the length of a table of colours; 0 if there is none."""
    return 3 * (2 << (flags & 7)) if flags & 0x80 else 0


def _gif_data_end(raw: bytes, at: int, parts: _Parts) -> int:
    while at < len(raw) and raw[at]:
        parts.count()
        at += 1 + raw[at]
    return at + 1


def orientation(raw: bytes, mime_type: str, exif: bytes = b"") -> int:
    """Return how the camera was held (1 to 8). `exif` is for WebP, where the decoder finds it."""
    if mime_type == "image/png":
        found = next(_png_chunks(raw, frozenset({b"eXIf"})), None)
        exif = raw[found[0] + 8 : found[1] - 4] if found else b""
    elif mime_type == "image/jpeg":
        segments = (body for marker, body in _jpeg_segments(raw) if marker == _JPEG_EXIF)
        exif = next((body for body in segments if body.startswith(_EXIF_START)), b"")
    return _exif_orientation(exif.removeprefix(_EXIF_START))


def _exif_orientation(tiff: bytes) -> int:
    order: Literal["little", "big"] = "little" if tiff[:2] == b"II" else "big"

    def number(at: int, length: int) -> int:
        return int.from_bytes(tiff[at : at + length], order)

    tags = number(4, 4)
    for at in range(tags + 2, tags + 2 + 12 * min(number(tags, 2), _MOST_TAGS), 12):
        if number(at, 2) == _ORIENTATION:
            return number(at + 8, 2)
    return 1


class _Parts:
    """Counts the parts of a file."""

    def __init__(self) -> None:
        self._left = MOST_PARTS

    def count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise DamagedPictureError


def webp_size(raw: bytes) -> tuple[int, int] | None:
    """Return width and height of the canvas; None if the header is damaged."""
    kind, body = raw[12:16], raw[20:30]
    if len(body) < 10:
        return None
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = body[6:8], body[8:10]
        return int.from_bytes(width, "little") & 0x3FFF, int.from_bytes(height, "little") & 0x3FFF
    return None


def jpeg_is_buffered(raw: bytes) -> bool:
    """Tell whether a decoder keeps the whole picture in memory, even to reduce it.

    It does so for progressive files, and for files that store the colours one after the other.
    """
    components = 0
    for marker, body in _jpeg_segments(raw):
        if marker in _JPEG_PROGRESSIVE:
            return True
        if marker in _JPEG_FRAMES:
            components = body[5] if len(body) > 5 else 0
        if marker == _JPEG_SCAN:
            return bool(body) and body[0] < components
    return True


def jpeg_scans(raw: bytes) -> int:
    """Return how often the decoder reads the picture at most (scans of a thumbnail count too)."""
    return raw.count(bytes((0xFF, _JPEG_SCAN)))


def _jpeg_segments(raw: bytes) -> Iterator[tuple[int, bytes]]:
    return ((marker, raw[start + 4 : end]) for start, end, marker in _jpeg_parts(raw))


def _jpeg_parts(raw: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and marker of each segment up to the first scan."""
    at = 2
    parts = _Parts()
    while at + 4 <= len(raw):
        parts.count()
        marker = raw[at + 1]
        if raw[at] != 0xFF or marker in (0x00, 0xFF) or marker in _JPEG_WITHOUT_LENGTH:
            at += 1  # fill bytes and garbage between segments, which decoders skip too
            continue
        end = at + 2 + max(int.from_bytes(raw[at + 2 : at + 4]), 2)
        yield at, end, marker
        if marker == _JPEG_SCAN:
            return
        at = end
