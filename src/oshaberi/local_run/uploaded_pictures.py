"""Pictures that somebody uploaded to the stage, for a model to see.

They are taken from the stage itself: whatever else is on loopback stays out of a model's reach.
"""

from __future__ import annotations

import asyncio
import re

from oshaberi.providers.public_web import FetchRefusedError
from oshaberi.providers.request.context_items import ImagePart, TextPart
from oshaberi.providers.request.image_fetching import ImageFetcher, ImageLimits, prepare_image
from oshaberi.stage import Stage
from oshaberi.stage.world.discord_records import Attachment

_PLACE = re.compile(r"/cdn/attachments/\d+/(\d+)/[^/]+")


class StagePictures:
    """`fetch` is what an endpoint wants; addresses elsewhere are fetched as always."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._elsewhere = ImageFetcher()

    async def fetch(self, url: str) -> ImagePart | TextPart:
        found = self._uploaded(url)
        if found is None:
            return await self._elsewhere.fetch(url)
        try:
            return await asyncio.to_thread(prepare_image, found.content, ImageLimits())
        except FetchRefusedError as refusal:
            return TextPart(f"[image could not be read: {refusal}]")
        except ImportError as error:
            return TextPart(f'[an image, not shown: {error.name} is missing, "oshaberi[images]"]')

    def _uploaded(self, url: str) -> Attachment | None:
        if not url.startswith(f"{self._stage.url}/"):
            return None
        place = _PLACE.fullmatch(url.removeprefix(self._stage.url).partition("?")[0])
        return self._stage.world.attachments.get(int(place[1])) if place else None
