"""Reads a picture's format and size from its first bytes, before it is decoded. Pure."""

from __future__ import annotations

from collections.abc import Iterator

PNG_START = b"\x89PNG\r\n\x1a\n"
MAGIC_LENGTH = 16

_MAGIC = (
    (PNG_START, "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_PNG_PICTURE = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"eXIf"})
_JPEG_SCAN = 0xDA
_JPEG_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})


def image_type(start: bytes) -> str | None:
    """Return the type by the first bytes. The server's content type is not trusted."""
    for magic, mime_type in _MAGIC:
        if start.startswith(magic):
            return mime_type
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else None


def png_picture(raw: bytes) -> bytes:
    """Return a PNG without its texts, profiles and later frames, which Pillow would unpack."""
    return PNG_START + b"".join(raw[start:end] for start, end, _name in _png_chunks(raw))


def png_is_animated(raw: bytes) -> bool:
    return any(name == b"acTL" for _start, _end, name in _png_chunks(raw, frozenset({b"acTL"})))


def _png_chunks(
    raw: bytes, wanted: frozenset[bytes] = _PNG_PICTURE
) -> Iterator[tuple[int, int, bytes]]:
    start = len(PNG_START)
    while start + 8 <= len(raw):
        name = raw[start + 4 : start + 8]
        end = start + 12 + int.from_bytes(raw[start : start + 4])
        if name in wanted:
            yield start, end, name
        start = end


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
    at = 2
    while at + 4 <= len(raw):
        marker = raw[at + 1]
        if raw[at] != 0xFF or marker in (0x00, 0xFF) or marker in _JPEG_WITHOUT_LENGTH:
            at += 1  # fill bytes and garbage between segments, which decoders skip too
            continue
        length = int.from_bytes(raw[at + 2 : at + 4])
        yield marker, raw[at + 4 : at + 2 + length]
        at += 2 + max(length, 2)
