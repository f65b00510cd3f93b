"""Makes a request ready for an endpoint: what does not fit is dropped, images are fetched."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

from oshaberi.providers.budget import estimate, trimmed
from oshaberi.providers.context import ImagePart, Item, Part, TextPart, ToolRound
from oshaberi.providers.endpoint import Endpoint, FetchImage
from oshaberi.providers.request import Request

_HALVES = re.compile("[\ud800-\udfff]")


async def prepared(request: Request, endpoint: Endpoint) -> Request:
    """The same request, within the window, with every image here or a note in its place."""
    if request.max_output_tokens is None and endpoint.max_output_tokens is not None:
        request = replace(request, max_output_tokens=endpoint.max_output_tokens)
    items = trimmed(request, endpoint.window, endpoint.count_tokens or estimate)
    ready = await asyncio.gather(*(_item(item, endpoint.fetch_image) for item in items))
    return replace(request, items=tuple(ready))


async def _item(item: Item, fetch: FetchImage | None) -> Item:
    if isinstance(item, ToolRound):
        results = tuple(
            replace(result, content=_sendable(result.content)) for result in item.results
        )
        return replace(item, results=results, text=_sendable(item.text))
    parts = await asyncio.gather(*(_part(part, fetch) for part in item.parts))
    return replace(item, parts=tuple(parts))


async def _part(part: Part, fetch: FetchImage | None) -> Part:
    if isinstance(part, TextPart):
        return TextPart(_sendable(part.text))
    if not isinstance(part, ImagePart) or part.data is not None:
        return part
    if fetch is None or part.url is None:
        return TextPart("[an image, not shown]")
    return await fetch(part.url)


def _sendable(text: str) -> str:
    """Half a surrogate pair has no UTF-8, and would spoil the whole request."""
    return _HALVES.sub("\ufffd", text)
