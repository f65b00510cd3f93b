"""Makes a still image of a picture file, within limits that are checked before decoding.

One thread decodes one picture at a time, so that many at once need no more memory than one.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

from oshaberi.providers.images.picture_headers import (
    MAGIC_LENGTH,
    gif_picture,
    image_type,
    jpeg_is_buffered,
    jpeg_picture,
    jpeg_scans,
    orientation,
    png_is_animated,
    png_picture,
    webp_size,
)
from oshaberi.providers.request.context_items import ImagePart
from oshaberi.public_fetching import FetchRefusedError

if TYPE_CHECKING:
    from PIL import Image

_KEPT_AS_THEY_ARE = frozenset({"image/png", "image/jpeg", "image/webp"})
_JPEG_QUALITIES = (88, 70, 45, 20)
_JPEG_SCALES = (1, 2, 4, 8)
_MOST_JPEG_SCANS = 64
_PICTURE_ALONE = {"image/png": png_picture, "image/jpeg": jpeg_picture, "image/gif": gif_picture}


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """The limits of size, pixels and time for an image."""

    max_bytes: int = 10 * 1024 * 1024
    max_pixels: int = 8_400_000
    """How many pixels are decoded at most: a screen of 3840x2160 fits. A JPEG is decoded at a
    fraction of its size."""
    max_webp_pixels: int = 4_200_000
    """The decoder of WebP needs four times as much memory as the others."""
    max_jpeg_pixels: int = 64_000_000
    """Applies to the whole file, because of the time that decoding takes."""
    max_side_px: int = 1536
    max_sent_bytes: int = 1_500_000
    timeout_s: float = 10.0
    max_redirects: int = 3


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
    if fits and mime_type in _KEPT_AS_THEY_ARE and not _is_animated(image, raw, mime_type):
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
