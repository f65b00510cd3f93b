"""Images by address, for a model to see: fetched with limits, never from a private network.

Whatever goes wrong becomes a note in words, never an exception (spec 01).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from oshaberi.providers.public_web import (
    Address,
    Allowed,
    FetchRefusedError,
    PublicWeb,
    Resolve,
    is_public,
    resolve_host,
)
from oshaberi.providers.request.context_items import ImagePart, TextPart

if TYPE_CHECKING:
    from PIL import Image

__all__ = [
    "Address",
    "ImageFetcher",
    "ImageLimits",
    "image_type",
    "is_public",
    "prepare_image",
    "resolve_host",
]

_KEPT_AS_THEY_ARE = frozenset({"image/png", "image/jpeg", "image/webp"})
_JPEG_QUALITY = 88


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """How much an image may cost."""

    max_bytes: int = 10 * 1024 * 1024
    max_pixels: int = 40_000_000
    max_side_px: int = 1536
    timeout_s: float = 10.0
    max_redirects: int = 3


class ImageFetcher:
    """Fetches images. `allowed` and `resolve` are there for tests and for closed networks."""

    def __init__(
        self,
        limits: ImageLimits | None = None,
        *,
        allowed: Allowed = is_public,
        resolve: Resolve = resolve_host,
    ) -> None:
        self._limits = limits or ImageLimits()
        self._web = PublicWeb(
            max_bytes=self._limits.max_bytes,
            max_redirects=self._limits.max_redirects,
            allowed=allowed,
            resolve=resolve,
        )

    async def fetch(self, url: str) -> ImagePart | TextPart:
        """The image at an address, small enough; or a note that says why not."""
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                found = await self._web.get(url, "image/*", _begins_like_an_image)
                return await asyncio.to_thread(prepare_image, found.body, self._limits)
        except FetchRefusedError as refusal:
            return _note(str(refusal))
        except TimeoutError:
            return _note("it took too long")
        except ImportError as error:
            return _note(f"{error.name} is not installed; install oshaberi[images]")
        except (OSError, ValueError):
            return _note("the server does not answer")


def _note(reason: str) -> TextPart:
    return TextPart(f"[image could not be read: {reason}]")


# -- pictures ------------------------------------------------------------------------------------

_MAGIC_LENGTH = 16
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(start: bytes) -> str | None:
    """What the first bytes say; what a server says about them is not asked."""
    for magic, mime_type in _MAGIC:
        if start.startswith(magic):
            return mime_type
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else None


def _begins_like_an_image(body: bytearray) -> None:
    if len(body) >= _MAGIC_LENGTH and image_type(bytes(body[:_MAGIC_LENGTH])) is None:
        raise FetchRefusedError("it is not a PNG, JPEG, GIF or WebP")


def prepare_image(raw: bytes, limits: ImageLimits) -> ImagePart:
    """A still image within the limits. Bytes that already are one stay as they are."""
    from PIL import Image

    mime_type = image_type(raw[:_MAGIC_LENGTH])
    if mime_type is None:
        raise FetchRefusedError("it is not a PNG, JPEG, GIF or WebP")
    try:
        with Image.open(BytesIO(raw), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            return _prepared(image, raw, mime_type, limits)
    except FetchRefusedError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise FetchRefusedError("it has too many pixels") from None
    except Exception:
        # Decoders raise whatever they stumble over: struct.error, IndexError, SyntaxError, ...
        raise FetchRefusedError("it is damaged") from None


def _prepared(image: Image.Image, raw: bytes, mime_type: str, limits: ImageLimits) -> ImagePart:
    width, height = image.size
    if width * height > limits.max_pixels:
        raise FetchRefusedError("it has too many pixels")
    # JPEG decodes at a fraction of its size for a fraction of the cost.
    image.draft(None, (limits.max_side_px, limits.max_side_px))
    image.load()
    fits = max(width, height) <= limits.max_side_px
    if fits and mime_type in _KEPT_AS_THEY_ARE and getattr(image, "n_frames", 1) == 1:
        return ImagePart(data=raw, mime=mime_type)
    return _redrawn(image, limits.max_side_px)


def _redrawn(image: Image.Image, max_side_px: int) -> ImagePart:
    from PIL import ImageOps

    still = ImageOps.exif_transpose(image)
    clear = still.mode in ("RGBA", "LA", "PA") or "transparency" in still.info
    drawn = still.convert("RGBA" if clear else "RGB")
    drawn.thumbnail((max_side_px, max_side_px))
    out = BytesIO()
    if clear:
        drawn.save(out, "PNG")
    else:
        drawn.save(out, "JPEG", quality=_JPEG_QUALITY)
    kind = "image/png" if clear else "image/jpeg"
    return ImagePart(data=out.getvalue(), mime=kind)
