"""Prepares a request for an endpoint: drops what does not fit, fetches images."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from oshaberi.providers.endpoint import Endpoint, FetchImage
from oshaberi.providers.request.context_items import ContextItem, ImagePart, Item, Part, TextPart
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.window_budget import estimate, trimmed

_HALVES = re.compile("[\ud800-\udfff]")


async def prepared(request: Request, endpoint: Endpoint) -> Request:
    """The same request, within the window, with every image here or a note in its place."""
    if request.max_output_tokens is None and endpoint.max_output_tokens is not None:
        request = replace(request, max_output_tokens=endpoint.max_output_tokens)
    items = trimmed(request, endpoint.window, endpoint.count_tokens or estimate)
    ready = await _with_images(items, endpoint.fetch_image)
    return replace(request, items=tuple(map(_sendable, ready)))


async def _with_images(items: Sequence[Item], fetch: FetchImage | None) -> Sequence[Item]:
    """All images at once; most requests have none."""
    away = {part for item in items for part in _parts(item) if _is_away(part)}
    if not away:
        return items
    found = dict(zip(away, await asyncio.gather(*(_fetched(p, fetch) for p in away)), strict=True))
    return [
        replace(item, parts=tuple(found.get(part, part) for part in item.parts))
        if isinstance(item, ContextItem)
        else item
        for item in items
    ]


async def _fetched(part: Part, fetch: FetchImage | None) -> Part:
    url = part.url if isinstance(part, ImagePart) else None
    if fetch is None or url is None:
        return TextPart("[an image, not shown]")
    return await fetch(url)


def _parts(item: Item) -> Sequence[Part]:
    return item.parts if isinstance(item, ContextItem) else ()


def _is_away(part: Part) -> bool:
    return isinstance(part, ImagePart) and part.data is None


def _sendable(item: Item) -> Item:
    """Half a surrogate pair has no UTF-8, and would spoil the whole request."""
    if isinstance(item, ContextItem):
        return replace(item, parts=tuple(map(_whole_part, item.parts)))
    results = tuple(replace(result, content=_whole(result.content)) for result in item.results)
    return replace(item, results=results, text=_whole(item.text))


def _whole_part(part: Part) -> Part:
    return TextPart(_whole(part.text)) if isinstance(part, TextPart) else part


def _whole(text: str) -> str:
    return text if text.isascii() else _HALVES.sub("\ufffd", text)
