"""Fetches images for a model: with limits, never from a private network.

Every failure becomes a note in words, never an exception (spec 01). `oshaberi.public_fetching`
decides which addresses are private.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from oshaberi.providers.images.image_cache import ImageCache
from oshaberi.providers.images.image_preparation import ImageLimits, prepare_image, prepare_in_turn
from oshaberi.providers.images.picture_headers import MAGIC_LENGTH, image_type
from oshaberi.providers.request.context_items import ImagePart, TextPart
from oshaberi.public_fetching import (
    Address,
    Allowed,
    FetchRefusedError,
    PublicWeb,
    Resolve,
    is_public,
    resolve_host,
)

__all__ = [
    "Address",
    "ImageFetcher",
    "ImageLimits",
    "image_type",
    "is_public",
    "prepare_image",
    "prepared_or_note",
    "resolve_host",
    "shared_fetcher",
]

FETCHED_AT_ONCE = 2
"""How many files are fetched at once. They are in memory while they wait to be decoded."""


class ImageFetcher:
    """Fetches images. `allowed` and `resolve` are for tests and for closed networks."""

    def __init__(
        self,
        limits: ImageLimits | None = None,
        *,
        allowed: Allowed = is_public,
        resolve: Resolve = resolve_host,
    ) -> None:
        self._limits = limits or ImageLimits()
        self._cache = ImageCache()
        self._at_once = asyncio.Semaphore(FETCHED_AT_ONCE)
        self._web = PublicWeb(
            max_bytes=self._limits.max_bytes,
            max_redirects=self._limits.max_redirects,
            allowed=allowed,
            resolve=resolve,
        )

    async def fetch(self, url: str) -> ImagePart | TextPart:
        """Return the image at a URL, made small enough, or a note why it cannot be shown."""
        known = self._cache.get(url)
        if known is not None:
            return known
        async with self._at_once:
            try:
                async with asyncio.timeout(self._limits.timeout_s):
                    found = await self._web.get(url, "image/*", _begins_like_an_image)
            except FetchRefusedError as refusal:
                return _note(str(refusal))
            except TimeoutError:
                return _note("it took too long")
            except ImportError as error:
                return _note(f"{error.name} is not installed; install oshaberi[images]")
            except (OSError, ValueError):
                return _note("the server does not answer")
            return await prepared_or_note(url, found.body, self._limits, self._cache)


_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, ImageFetcher] = WeakKeyDictionary()


def shared_fetcher() -> ImageFetcher:
    """Return the fetcher of this event loop. All models share its cache and its limits."""
    return _SHARED.setdefault(asyncio.get_running_loop(), ImageFetcher())


async def prepared_or_note(
    url: str, raw: bytes, limits: ImageLimits, cache: ImageCache
) -> ImagePart | TextPart:
    """Return the image, or a note why it cannot be shown. Both are cached."""
    part: ImagePart | TextPart
    try:
        part = await prepare_in_turn(raw, limits)
    except FetchRefusedError as refusal:
        part = _note(str(refusal))
    except ImportError as error:
        return _note(f"{error.name} is not installed; install oshaberi[images]")
    cache.keep(url, part)
    return part


def _note(reason: str) -> TextPart:
    return TextPart(f"[image could not be read: {reason}]")


def _begins_like_an_image(body: bytearray) -> None:
    if len(body) >= MAGIC_LENGTH and image_type(bytes(body[:MAGIC_LENGTH])) is None:
        raise FetchRefusedError("it is not a PNG, JPEG, GIF or WebP")
