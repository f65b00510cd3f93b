"""Refuses requests of foreign web pages, whose Host or Origin is not the stage's own.

`may_control` checks the token of the control API, which only the starter of the stage knows. Other
machines cannot connect: `server` listens on loopback only.
"""

from __future__ import annotations

import hmac

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from discord_stage.state import StageState

HEADER = "X-Stage-Token"


def guarded(state: StageState) -> Middleware:
    """Return the middleware that checks Host and Origin of every request first."""

    @web.middleware
    async def door(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _from_here(state, request):
            raise web.HTTPForbidden(text="the stage talks to this machine only")
        try:
            return await handler(request)
        except ConnectionError:
            if not _hung_up(request):
                raise
            return web.Response()  # the client has gone

    return door


def _hung_up(request: web.Request) -> bool:
    """Return whether the client has closed the connection, such as a page that is reloaded."""
    return request.transport is None or request.transport.is_closing()


def _from_here(state: StageState, request: web.Request) -> bool:
    port = state.url.rpartition(":")[2]
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    if request.headers.get("Host") not in hosts:
        return False
    origin = request.headers.get("Origin")
    return origin is None or origin in {f"http://{host}" for host in hosts}


def may_control(request: web.Request, token: str) -> bool:
    return is_token(request.headers.get(HEADER, ""), token)


def is_token(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
