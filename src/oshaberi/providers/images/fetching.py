"""Fetches images for a model: with limits, never from a private network. Keeps prepared ones."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from oshaberi.providers.images.preparation import (
    MAGIC_LENGTH,
    ImageLimits,
    image_type,
    prepare_image,
    prepare_in_turn,
)
from oshaberi.providers.request.model_request import ImagePart, TextPart
from oshaberi.public_fetching import (
    Address,
    Allowed,
    FetchRefusedError,
    PublicWeb,
    Resolve,
    is_public,
    resolve_host,
)

# Keeps prepared pictures, so that a turn need not fetch and decode those of the history again.


MOST_IMAGES = 64
MOST_BYTES = 16 * 1024 * 1024
_SIGNATURE = frozenset({"ex", "is", "hm"})
"""Discord changes the signature in an attachment's URL every day; the file stays the same."""


def image_key(url: str) -> str:
    """Return the URL without Discord's signature, which changes."""
    try:
        parts = urlsplit(url)
        asked = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return url
    kept = [(name, value) for name, value in asked if name not in _SIGNATURE]
    return urlunsplit(parts._replace(query=urlencode(kept), fragment=""))


class ImageCache:
    """The pictures used last, and notes for pictures that can never be shown."""

    def __init__(self, most_images: int = MOST_IMAGES, most_bytes: int = MOST_BYTES) -> None:
        self._most_images = most_images
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, ImagePart | TextPart] = OrderedDict()
        self._bytes = 0

    def get(self, url: str) -> ImagePart | TextPart | None:
        key = image_key(url)
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, url: str, part: ImagePart | TextPart) -> None:
        key = image_key(url)
        self._bytes += _size(part) - _size(self._kept.pop(key, None))
        self._kept[key] = part
        while len(self._kept) > self._most_images or self._bytes > self._most_bytes:
            _key, dropped = self._kept.popitem(last=False)
            self._bytes -= _size(dropped)


def _size(part: ImagePart | TextPart | None) -> int:
    return len(part.data or b"") if isinstance(part, ImagePart) else 0


# Fetches images for a model: with limits, never from a private network.
#
# Every failure becomes a note in words, never an exception (spec 01). `oshaberi.public_fetching`
# decides which addresses are private.


__all__ = [
    "Address",
    "ImageFetcher",
    "ImageLimits",
    "begins_like_an_image",
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
                    found = await self._web.get(url, "image/*", begins_like_an_image)
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


def begins_like_an_image(body: bytearray) -> None:
    """Refuse a file that is not a picture as soon as its first bytes are there."""
    if len(body) >= MAGIC_LENGTH and image_type(bytes(body[:MAGIC_LENGTH])) is None:
        raise FetchRefusedError("it is not a PNG, JPEG, GIF or WebP")
