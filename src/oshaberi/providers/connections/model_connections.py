"""The connections to providers' servers, which all adapters of an event loop share.

A connection stays open for the next request, whichever adapter makes it. aiohttp is used because it
reads a stream of tokens with the least processor time of all clients (docs/performance.md).
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp import ClientHandlerType, ClientMiddlewareType, ClientRequest, ClientResponse

from oshaberi.foreign_bodies import PLAIN

KEPT_S = 30.0
"""How long an idle connection is kept: long enough for the tools between two requests of a turn."""
LONGEST_HEADER = 65_536


@dataclass(slots=True)
class _SharedConnector:
    connector: aiohttp.TCPConnector
    users: int = 0


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, _SharedConnector] = WeakKeyDictionary()
_was_kept: ContextVar[bool] = ContextVar("was_kept", default=False)


class ModelSession:
    """An adapter's session on the shared connections. The first request opens it.

    When the last adapter calls `aclose`, the connections are closed.
    """

    def __init__(self, *middlewares: ClientMiddlewareType, trust_env: bool = False) -> None:
        self._middlewares = middlewares
        self._trust_env = trust_env
        self._session: aiohttp.ClientSession | None = None
        self._used: _SharedConnector | None = None

    def get(self) -> aiohttp.ClientSession:
        """Return the open session. Call this on the event loop that uses it."""
        if self._session is None:
            self._used = _connector()
            self._used.users += 1
            self._session = aiohttp.ClientSession(
                connector=self._used.connector,
                connector_owner=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=self._trust_env,
                headers=PLAIN,
                auto_decompress=False,
                middlewares=(*self._middlewares, repeated_if_stale),
                trace_configs=[_watch_of_kept_connections()],
                max_line_size=LONGEST_HEADER,
                max_field_size=LONGEST_HEADER,
            )
        return self._session

    async def aclose(self) -> None:
        session, used, self._session, self._used = self._session, self._used, None, None
        if session is None or used is None:
            return
        await session.close()
        used.users -= 1
        if not used.users:
            loop = asyncio.get_running_loop()
            if _shared.get(loop) is used:
                del _shared[loop]
            await used.connector.close()


async def repeated_if_stale(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
    """Repeat a request if the server closed the kept connection just as it was sent.

    If a new connection breaks, the error is raised.
    """
    _was_kept.set(False)
    try:
        return await handler(request)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        if not _was_kept.get():
            raise
    return await handler(request)


def _connector() -> _SharedConnector:
    """Return the running loop's connector. It has no limit, because `turn_slots` limits turns."""
    loop = asyncio.get_running_loop()
    found = _shared.get(loop)
    if found is None:
        made = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S)
        found = _shared[loop] = _SharedConnector(made)
    return found


def _watch_of_kept_connections() -> aiohttp.TraceConfig:
    async def note(*_event: Any) -> None:
        _was_kept.set(True)

    watch = aiohttp.TraceConfig()
    watch.on_connection_reuseconn.append(note)
    return watch
