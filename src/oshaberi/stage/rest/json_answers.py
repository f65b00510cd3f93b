"""The JSON answers of the stage, with the headers that Discord's have."""

from __future__ import annotations

import json

from aiohttp import web

from oshaberi.stage.requests.rate_limits import VIA


def json_answer(status: int, body: object, headers: dict[str, str] | None = None) -> web.Response:
    """Return JSON. The type is exactly `application/json`, which discord.py requires (facts)."""
    content = json.dumps(body).encode()
    heads = (VIA if status != 429 else {}) | (headers or {})
    return web.Response(status=status, body=content, content_type="application/json", headers=heads)
