"""Picture files that are small to send and large to decode."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

from PIL import Image

PNG_START = b"\x89PNG\r\n\x1a\n"


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    head = struct.pack(">I", len(content)) + name + content
    return head + struct.pack(">I", zlib.crc32(name + content))


def flat_png(width: int, height: int, *, clear: bool = False, extras: bytes = b"") -> bytes:
    """One colour, row by row, so that whoever makes it needs no memory either."""
    row = b"\0" * (1 + width * (4 if clear else 3))
    squeeze = zlib.compressobj(9)
    data = b"".join(squeeze.compress(row) for _ in range(height)) + squeeze.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 6 if clear else 2, 0, 0, 0)
    return b"".join(
        (PNG_START, chunk(b"IHDR", header), extras, chunk(b"IDAT", data), chunk(b"IEND", b""))
    )


def noisy_png(width: int, height: int) -> bytes:
    """A transparent PNG that cannot be made smaller."""
    channel = Image.effect_noise((width, height), 90)
    out = BytesIO()
    Image.merge("RGBA", [channel, channel.rotate(90), channel.rotate(180), channel]).save(
        out, "PNG", compress_level=1
    )
    return out.getvalue()


def flat_jpeg(width: int, height: int, *, progressive: bool = False) -> bytes:
    out = BytesIO()
    Image.new("L", (width, height), 128).save(out, "JPEG", progressive=progressive, quality=30)
    return out.getvalue()


def flat_webp(width: int, height: int) -> bytes:
    out = BytesIO()
    Image.new("RGBA", (width, height), (9, 9, 9, 128)).save(out, "WEBP", lossless=True, method=0)
    return out.getvalue()
