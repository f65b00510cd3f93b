"""Gives a model the pictures that were uploaded to the stage.

They are read from the stage itself, so that a model can reach nothing else on loopback.
"""

from __future__ import annotations

import re

from oshaberi.providers.images.image_cache import ImageCache
from oshaberi.providers.images.image_fetching import ImageFetcher, ImageLimits, prepared_or_note
from oshaberi.providers.request.context_items import ImagePart, TextPart
from oshaberi.stage import Stage
from oshaberi.stage.world.discord_records import Attachment

_PLACE = re.compile(r"/cdn/attachments/\d+/(\d+)/[^/]+")


class StagePictures:
    """Fetches pictures; `fetch` is for an endpoint. Other addresses are fetched as usual."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._elsewhere = ImageFetcher()
        self._cache = ImageCache()

    async def fetch(self, url: str) -> ImagePart | TextPart:
        found = self._uploaded(url)
        if found is None:
            return await self._elsewhere.fetch(url)
        known = self._cache.get(url)
        if known is not None:
            return known
        return await prepared_or_note(url, found.content, ImageLimits(), self._cache)

    def _uploaded(self, url: str) -> Attachment | None:
        if not url.startswith(f"{self._stage.url}/"):
            return None
        place = _PLACE.fullmatch(url.removeprefix(self._stage.url).partition("?")[0])
        return self._stage.world.attachments.get(int(place[1])) if place else None
