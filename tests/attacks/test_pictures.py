"""Small picture files that are made to keep a decoder busy, fill the memory or flood the log."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image

from oshaberi.providers.images.preparation import ImageLimits, prepare_image
from oshaberi.public_fetching import FetchRefusedError
from tests.attacks.loop_watch import computing_at_most, memory_at_most

LIMITS = ImageLimits()
SIZE = LIMITS.max_bytes - 100_000


def _file(kind: str, size: tuple[int, int] = (8, 8), **options: object) -> bytes:
    out = BytesIO()
    Image.new("P" if kind == "GIF" else "RGB", size).save(out, kind, **options)
    return out.getvalue()


def _chunk(name: bytes, content: bytes = b"") -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)


def _png(part: bytes) -> bytes:
    png = _file("PNG")
    return png[:33] + part * (SIZE // len(part)) + png[33:]


def _jpeg(part: bytes) -> bytes:
    jpeg = _file("JPEG")
    return jpeg[:2] + part * (SIZE // len(part)) + jpeg[2:]


def _gif(part: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    gif = _file("GIF")
    at = 13 + 3 * (2 << (gif[10] & 7))
    return gif[:at] + before + part * (SIZE // len(part)) + after + gif[at:]


SHAPES: dict[str, Callable[[], bytes]] = {
    "PNG: empty data": lambda: _png(_chunk(b"IDAT")),
    "PNG: unknown chunks": lambda: _png(_chunk(b"abCd")),
    "PNG: palettes": lambda: _png(_chunk(b"PLTE", b"\0\0\0")),
    "PNG: camera data": lambda: _png(_chunk(b"eXIf", b"x")),
    "PNG: zero lengths": lambda: _png(b"\0"),
    "JPEG: fill bytes": lambda: _jpeg(b"\xff"),
    "JPEG: comments": lambda: _jpeg(b"\xff\xfe\0\x02"),
    "JPEG: camera data": lambda: _jpeg(b"\xff\xe1\0\x08Exif\0\0"),
    "JPEG: Photoshop": lambda: _jpeg(b"\xff\xed\0\x10Photoshop 3.0\0"),
    "JPEG: profiles": lambda: _jpeg(b"\xff\xe2\0\x10ICC_PROFILE\0\1\1"),
    "JPEG: tables": lambda: _jpeg(b"\xff\xdb\0\x02"),
    "JPEG: restarts": lambda: _file("JPEG")[:-2] + b"\xff\xd0" * (SIZE // 2),
    "JPEG: scans": lambda: _file("JPEG")[:-2] + b"\xff\xda" * (SIZE // 2),
    "GIF: a comment in blocks of one": lambda: _gif(b"\x01a", b"!\xfe", b"\0"),
    "GIF: comments": lambda: _gif(b"!\xfe\x01a\0"),
    "GIF: extensions": lambda: _gif(b"!\x01\x01a\0"),
    "GIF: garbage": lambda: _gif(b"\0"),
    "GIF: frames": lambda: _gif(b",\0\0\0\0\x08\0\x08\0\0\x02\x01\0\0"),
    "GIF: data in blocks of one": lambda: _gif(b"\x01\0", b",\0\0\0\0\x08\0\x08\0\0\x02", b"\0"),
    "GIF: only its beginning": lambda: b"GIF89a",
    "WebP: zeros": lambda: b"RIFF\0\0\0\0WEBPVP8X\n\0\0\0" + bytes(SIZE),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_file_is_shown_or_refused_soon(shape: str) -> None:
    """Ten megabytes of fill bytes took four seconds of the only thread of pictures."""
    raw = SHAPES[shape]()
    assert len(raw) <= LIMITS.max_bytes
    with computing_at_most(0.5):
        try:
            part = prepare_image(raw, LIMITS)
        except FetchRefusedError:
            return
    assert len(part.data or b"") <= LIMITS.max_sent_bytes


def _camera_data(tags: int, size: int) -> bytes:
    """Tags that all claim to hold the same `size` bytes."""
    entries = (struct.pack("<HHII", number, 1, size, 8) for number in range(1, tags + 1))
    head = b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", tags)
    return head + b"".join(entries) + bytes(4) + b"x" * size


def _with_camera_data(kind: str, content: bytes) -> bytes:
    file = _file(kind, (2000, 20))
    if kind == "PNG":
        return file[:33] + _chunk(b"eXIf", content) + file[33:]
    parts = (content[at : at + 65_000] for at in range(0, len(content), 65_000))
    segments = (b"\xff\xe1" + struct.pack(">H", len(one) + 8) + b"Exif\0\0" + one for one in parts)
    return file[:2] + b"".join(segments) + file[2:]


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_camera_data_is_a_bomb_for_nobody(kind: str) -> None:
    """Pillow warned about each of the tags; warnings are errors in these tests."""
    raw = _with_camera_data(kind, _camera_data(60_000, 3_000_000))
    with memory_at_most(30):
        assert prepare_image(raw, LIMITS).mime == "image/jpeg"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_is_still_turned_as_the_camera_was_held(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    raw = _file(kind, (2000, 20), exif=exif)
    with Image.open(BytesIO(prepare_image(raw, LIMITS).data or b"")) as image:
        assert image.height > image.width


def test_a_long_comment_does_not_hide_a_picture() -> None:
    """It was copied into the JPEG, where it does not fit."""
    gif = _file("GIF")
    at = 13 + 3 * (2 << (gif[10] & 7))
    raw = gif[:at] + b"!\xfe" + (b"\xff" + b"a" * 255) * 1000 + b"\0" + gif[at:]
    assert prepare_image(raw, LIMITS).mime in ("image/jpeg", "image/png")
