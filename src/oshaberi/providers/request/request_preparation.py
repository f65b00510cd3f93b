"""Prepares a request for an endpoint: trims it to the window, fetches images."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.context_items import ContextItem, ImagePart, Item, Part, TextPart
from oshaberi.providers.request.context_window import known_window
from oshaberi.providers.request.endpoint import Endpoint, FetchImage, place_of
from oshaberi.providers.request.history_as_text import for_model
from oshaberi.providers.request.history_trimming import (
    Count,
    estimate,
    overflowing,
    text_cost,
    trimmed,
)
from oshaberi.providers.request.model_request import Request

_UNKNOWN = ModelCapabilities()
UNASKED_WINDOW = 2048
"""A local server is not asked for its window if a request fits into so many tokens."""
_HALVES = re.compile("[\ud800-\udfff]")


async def prepared(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities = _UNKNOWN
) -> Request:
    """Return the request within the window, with each image fetched or replaced by a note."""
    if request.max_output_tokens is None and endpoint.max_output_tokens is not None:
        request = replace(request, max_output_tokens=endpoint.max_output_tokens)
    request = for_model(request, capabilities)
    count = counter_of(endpoint)
    window = await _window(request, endpoint, capabilities, count)
    request = replace(request, items=trimmed(request, window, count))
    if request.size is not None:
        request.size.estimated_tokens = text_cost(request)
    ready = await _with_images(request.items, endpoint.fetch_image)
    return replace(request, items=tuple(map(_sendable, ready)))


async def left_out(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities, share: float = 1.0
) -> frozenset[int]:
    """Return the indexes of the items that do not fit into the window and are not sent."""
    if request.max_output_tokens is None and endpoint.max_output_tokens is not None:
        request = replace(request, max_output_tokens=endpoint.max_output_tokens)
    count = counter_of(endpoint)
    window = await _window(request, endpoint, capabilities, count)
    return overflowing(request, window, count, share)


async def _window(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities, count: Count
) -> int | None:
    """Return the model's window. A local server is not asked if the request is short."""
    asks = endpoint.window is None and endpoint.ask_window is not None
    if asks and not overflowing(request, UNASKED_WINDOW, count):
        return UNASKED_WINDOW
    return await known_window(endpoint, capabilities)


def counter_of(endpoint: Endpoint) -> Count:
    """Return the token counter: a tokenizer, else an estimate corrected by past usage."""
    if endpoint.count_tokens is not None:
        return endpoint.count_tokens
    return endpoint.learned.tokens.corrected(place_of(endpoint), estimate)


async def _with_images(items: Sequence[Item], fetch: FetchImage | None) -> Sequence[Item]:
    """Fetch all images together. Most requests have none."""
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
    """Replace lone surrogates: they have no UTF-8 form and would break the request."""
    if isinstance(item, ContextItem):
        return replace(item, parts=tuple(map(_whole_part, item.parts)))
    results = tuple(replace(result, content=_whole(result.content)) for result in item.results)
    return replace(item, results=results, text=_whole(item.text))


def _whole_part(part: Part) -> Part:
    return TextPart(_whole(part.text)) if isinstance(part, TextPart) else part


def _whole(text: str) -> str:
    return text if text.isascii() else _HALVES.sub("\ufffd", text)
