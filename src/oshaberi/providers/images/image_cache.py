"""Keeps prepared pictures, so that a turn need not fetch and decode those of the history again."""

from __future__ import annotations

from collections import OrderedDict
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from oshaberi.providers.request.context_items import ImagePart, TextPart

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
