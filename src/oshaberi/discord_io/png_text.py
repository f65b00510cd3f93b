"""Stores a text inside a PNG file and reads it back; viewers ignore it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"Source"
MOST_BYTES = 1_000_000
"""The longest unpacked text, so that no picture from elsewhere can fill the memory."""

_HEADER_END = len(SIGNATURE) + 25  # IHDR is always first, and 13 bytes long


def with_text(png: bytes, text: str) -> bytes:
    """Return the picture with the text stored in it. A file that is no PNG stays unchanged."""
    if not text or not png.startswith(SIGNATURE) or len(png) < _HEADER_END:
        return png
    packed = zlib.compress(text.encode("utf-8", "replace"))
    chunk = _chunk(b"iTXt", KEYWORD + b"\0\1\0\0\0" + packed)
    return png[:_HEADER_END] + chunk + png[_HEADER_END:]


def text_in(png: bytes) -> str | None:
    """Return the text that `with_text` stored, or None."""
    if not png.startswith(SIGNATURE):
        return None
    for kind, content in _chunks(png):
        if kind == b"iTXt" and content.startswith(KEYWORD + b"\0\1\0\0\0"):
            return _unpacked(content[len(KEYWORD) + 5 :])
    return None


def _unpacked(packed: bytes) -> str | None:
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(packed, MOST_BYTES)
        return text.decode() if reader.eof else None
    except (zlib.error, UnicodeDecodeError):
        return None


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length
