"""Files served back: attachments as they were sent, and a plain dot for every picture."""

from __future__ import annotations

import base64

from aiohttp import web

from oshaberi.stage.core import Core

_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
_ACTIVE = ("text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml")


class Cdn:
    """Serves `/cdn/`."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def attachment(self, request: web.Request) -> web.StreamResponse:
        number = request.match_info["attachment_id"]
        item = self._core.world.attachments.get(int(number) if number.isdecimal() else 0)
        if item is None or item.filename != request.match_info["filename"]:
            raise web.HTTPNotFound
        # Nothing that came from outside may run as a page of ours.
        kind = "application/octet-stream" if item.content_type in _ACTIVE else item.content_type
        headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}
        return web.Response(body=item.content, content_type=kind, headers=headers)

    async def picture(self, _request: web.Request) -> web.StreamResponse:
        """Avatars, emoji, icons."""
        return web.Response(body=_DOT, content_type="image/png")
