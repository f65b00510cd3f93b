"""Makes a still image from a picture file, within limits that are checked before decoding."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Literal

from oshaberi.providers.request.model_request import ImagePart
from oshaberi.public_fetching import FetchRefusedError

if TYPE_CHECKING:
    from PIL import Image


# Reads a picture's format and size before it is decoded, and leaves only the picture itself.
#
# Comments, profiles, thumbnails and later frames do not reach Pillow: it parses each of them in
# Python, and warns about each tag that it does not like. A file with absurdly many parts raises
# DamagedPictureError. Pure.


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
    """Return whether a decoder keeps the whole picture in memory, even to reduce it.

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
    """Return the most scans that the decoder reads (those of a thumbnail count, too)."""
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


# Makes a still image from a picture file, within limits that are checked before decoding.
#
# One thread decodes one picture at a time, so that many at once need no more memory than one.


_KEPT_AS_THEY_ARE = frozenset({"image/png", "image/jpeg", "image/webp"})
_JPEG_QUALITIES = (88, 70, 45, 20)
_JPEG_SCALES = (1, 2, 4, 8)
_MOST_JPEG_SCANS = 64
_HEAD = 0.1
"""The share of a tall picture's cut-off part that is above the square."""
_PICTURE_ALONE = {"image/png": png_picture, "image/jpeg": jpeg_picture, "image/gif": gif_picture}


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """The limits of size, pixels and time for an image."""

    max_bytes: int = 10 * 1024 * 1024
    max_pixels: int = 8_400_000
    """The most pixels that are decoded: a screen of 3840x2160 fits. A JPEG is decoded at a
    fraction of its size."""
    max_webp_pixels: int = 4_200_000
    """The decoder of WebP needs four times as much memory as the others."""
    max_jpeg_pixels: int = 64_000_000
    """Applies to the whole file, because of the time that decoding takes."""
    max_side_px: int = 1536
    max_sent_bytes: int = 1_500_000
    timeout_s: float = 10.0
    max_redirects: int = 3
    redraw: Literal["if needed", "whole", "square"] = "if needed"
    """`whole` and `square`: always redrawn, so that nothing else of the file remains."""


async def prepare_in_turn(raw: bytes, limits: ImageLimits) -> ImagePart:
    """Call `prepare_image` in a thread, one picture at a time."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), prepare_image, raw, limits)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="pictures")


def prepare_image(raw: bytes, limits: ImageLimits) -> ImagePart:
    """Return a still image within the limits. A file that is already one stays unchanged."""
    from PIL import Image

    mime_type = image_type(raw[:MAGIC_LENGTH])
    if mime_type is None:
        raise FetchRefusedError("it is not a PNG, JPEG, GIF or WebP")
    try:
        _check_header(raw, mime_type, limits)
        picture = _PICTURE_ALONE[mime_type](raw) if mime_type in _PICTURE_ALONE else raw
        with Image.open(BytesIO(picture), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            return _prepared(image, raw, mime_type, limits)
    except FetchRefusedError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise FetchRefusedError("it has too many pixels") from None
    except Exception:
        # Decoders raise whatever they stumble over: struct.error, IndexError, SyntaxError, ...
        raise FetchRefusedError("it is damaged") from None


def png_of_drawn(drawn: bytes) -> bytes:
    """Return a picture that `prepare_image` drew as PNG, for files that can hold nothing else."""
    from PIL import Image

    out = BytesIO()
    with Image.open(BytesIO(drawn), formats=("PNG", "JPEG")) as image:
        image.save(out, "PNG")
    return out.getvalue()


def _check_header(raw: bytes, mime_type: str, limits: ImageLimits) -> None:
    """Check what Pillow does not report, or reports only after it has allocated memory."""
    if mime_type == "image/webp":
        size = webp_size(raw)
        if size is None:
            raise FetchRefusedError("it is damaged")
        _check_pixels(size, min(limits.max_webp_pixels, limits.max_pixels))
    if mime_type == "image/jpeg" and jpeg_scans(raw) > _MOST_JPEG_SCANS:
        raise FetchRefusedError("it is damaged")


def _check_pixels(size: tuple[int, int], most: int) -> None:
    width, height = size
    if width * height > most:
        raise FetchRefusedError("it has too many pixels")


def _prepared(image: Image.Image, raw: bytes, mime_type: str, limits: ImageLimits) -> ImagePart:
    fits = max(image.size) <= limits.max_side_px and len(raw) <= limits.max_sent_bytes
    if mime_type == "image/jpeg":
        _reduce_jpeg(image, raw, limits)
    _check_pixels(image.size, limits.max_pixels)
    image.load()
    keeps = fits and limits.redraw == "if needed"
    if keeps and mime_type in _KEPT_AS_THEY_ARE and not _is_animated(image, raw, mime_type):
        return ImagePart(data=raw, mime=mime_type)
    turn = orientation(raw, mime_type, image.info.get("exif", b""))
    return _redrawn(image, turn, limits)


def _is_animated(image: Image.Image, raw: bytes, mime_type: str) -> bool:
    if mime_type == "image/png":
        return png_is_animated(raw)
    return getattr(image, "n_frames", 1) > 1


def _reduce_jpeg(image: Image.Image, raw: bytes, limits: ImageLimits) -> None:
    """Decode a JPEG at half, quarter or eighth size, which is much cheaper."""
    width, height = image.size
    _check_pixels(image.size, limits.max_jpeg_pixels)
    if jpeg_is_buffered(raw):
        _check_pixels(image.size, limits.max_pixels)
    scale = max(n for n in _JPEG_SCALES if n == 1 or max(width, height) // n >= limits.max_side_px)
    while width * height > limits.max_pixels * scale * scale and scale < _JPEG_SCALES[-1]:
        scale *= 2
    image.draft(None, (max(1, width // scale), max(1, height // scale)))


def _redrawn(image: Image.Image, turn: int, limits: ImageLimits) -> ImagePart:
    clear = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    mode = "RGBA" if clear else "RGB"
    drawn = image if image.mode == mode else image.convert(mode)
    drawn = _turned(_shrunk(drawn, limits.max_side_px), turn)
    drawn = _square(drawn) if limits.redraw == "square" else drawn
    if clear:
        content = _saved(drawn, "PNG")
        if len(content) <= limits.max_sent_bytes:
            return ImagePart(data=content, mime="image/png")
        drawn = _on_white(drawn)
    return ImagePart(data=_jpeg(drawn, limits.max_sent_bytes), mime="image/jpeg")


def _shrunk(image: Image.Image, max_side_px: int) -> Image.Image:
    """Shrink one channel at a time, because Pillow copies a whole picture with transparency."""
    from PIL import Image

    longest = max(image.size)
    if longest <= max_side_px:
        return image
    width, height = (max(1, round(side * max_side_px / longest)) for side in image.size)
    channels = [
        image.getchannel(number).resize((width, height), reducing_gap=2.0)
        for number in range(len(image.getbands()))
    ]
    return Image.merge(image.mode, channels)


def _turned(image: Image.Image, turn: int) -> Image.Image:
    """Rotate the picture to how the camera was held."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[turn]) if turn in turns else image


def _square(image: Image.Image) -> Image.Image:
    """Cut a square out of the picture: a tall one shows a whole person, whose head is above."""
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) // 2, round((height - side) * _HEAD)
    return image.crop((left, top, left + side, top + side))


def _on_white(image: Image.Image) -> Image.Image:
    from PIL import Image

    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _jpeg(image: Image.Image, most_bytes: int) -> bytes:
    content = b""
    for quality in _JPEG_QUALITIES:
        content = _saved(image, "JPEG", quality=quality)
        if len(content) <= most_bytes:
            break
    return content


def _saved(image: Image.Image, kind: str, **options: int) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
