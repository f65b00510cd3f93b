"""The connections to providers' servers, which all adapters share, and the streamed bodies.

A connection stays open for the next request, whichever adapter makes it. aiohttp is used because it
reads a stream of tokens with the least processor time of all clients (docs/performance.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp import ClientHandlerType, ClientMiddlewareType, ClientRequest, ClientResponse

from oshaberi.clocks import has_come
from oshaberi.foreign_bodies import (
    PIECE,
    PLAIN,
    BodyTooLargeError,
    answer_body,
    cut,
    unpacker_for,
)
from oshaberi.providers.request.answer_budgets import MOST_BODY_BYTES

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

    def __init__(self, *middlewares: ClientMiddlewareType) -> None:
        self._middlewares = middlewares
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


async def ask_once(
    method: str, url: str, patience_s: float, most_bytes: int, **sent: Any
) -> tuple[int, bytes]:
    """Return the status and the body of a small answer. Follows no redirect.

    Raises TimeoutError, aiohttp.ClientError, OSError, BodyTooLargeError and PackedBodyError.
    """
    limit = aiohttp.ClientTimeout(total=patience_s)
    async with (
        aiohttp.ClientSession(headers=PLAIN, auto_decompress=False, timeout=limit) as session,
        session.request(method, url, proxy=proxy_for(url), allow_redirects=False, **sent) as answer,
    ):
        return answer.status, await answer_body(answer, most_bytes)


class SocksProxyError(OSError):
    """The environment names a SOCKS proxy, and aiohttp only knows HTTP proxies."""


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for this URL.

    Raises SocksProxyError: bypassing such a proxy silently would be worse.
    """
    proxies = getproxies()
    if not proxies:
        return None
    parts = urlsplit(url)
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    if proxy.lower().startswith("socks"):
        raise SocksProxyError("a SOCKS proxy cannot be used: set HTTPS_PROXY to an HTTP proxy")
    return proxy


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


# Reads the body of a streamed answer in pieces as they arrive, with limits on silence and size.
#
# aiohttp would set a new timer for every piece. Here a single timer checks, whenever it fires,
# whether the silence has really lasted that long.


_NO_HEADERS: Mapping[str, str] = {}


class StreamedBody:
    """Yields the pieces of one body, none longer than `PIECE`.

    Raises TimeoutError after `silence_s` without a byte, and BodyTooLargeError after `most_bytes`
    bytes. Close it if you stop reading early.
    """

    def __init__(
        self,
        content: Any,
        silence_s: float | None,
        most_bytes: int = MOST_BODY_BYTES,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self._unpacker = unpacker_for(headers)
        self._content = content
        self._read: Callable[[], Awaitable[bytes]] = content.readany
        self._silence_s = silence_s
        self._most_bytes = self._left_bytes = most_bytes
        self._whole_below = PIECE if self._unpacker is None else 0
        self._cut_up: Iterator[bytes] | None = None
        """The rest of the last read, if it was too much for one piece."""
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._waits_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._look_in(silence_s)

    @classmethod
    def of(cls, response: ClientResponse, silence_s: float | None, most_bytes: int) -> StreamedBody:
        """Return the body of a response. The clock for silence starts now."""
        if response.connection is not None and response.connection.protocol is not None:
            response.connection.protocol.read_timeout = None
        return cls(response.content, silence_s, most_bytes, response.headers)

    def __aiter__(self) -> StreamedBody:
        return self

    async def __anext__(self) -> bytes:
        while True:
            if self._cut_up is not None:
                piece = await self._next_of_many(self._cut_up)
                if piece:
                    return piece
            self._waits_since = self._now()
            piece = await self._read()
            self._waits_since = None
            size = len(piece)
            self._left_bytes = left = self._left_bytes - size
            if 0 < size <= self._whole_below and left >= 0:
                return piece
            self._cut_up = self._pieces_of(piece)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pieces_of(self, piece: bytes) -> Iterator[bytes]:
        """Return a read in small pieces. Raises at the end and beyond the limit."""
        if not piece:
            self.close()
            raise StopAsyncIteration
        if self._unpacker is None:
            self._left_bytes += len(piece)  # it will be counted again, piece by piece
            return cut(piece)
        if self._left_bytes < 0:
            raise BodyTooLargeError(self._most_bytes)
        return self._unpacker.pieces(piece)

    async def _next_of_many(self, pieces: Iterator[bytes]) -> bytes:
        """Return the next piece, after giving the event loop a turn; nothing at the end."""
        await asyncio.sleep(0)
        piece = next(pieces, b"")
        self._left_bytes -= len(piece)
        if self._left_bytes < 0:
            raise BodyTooLargeError(self._most_bytes)
        if not piece:
            self._cut_up = None
        return piece

    def _look_in(self, seconds: float | None) -> None:
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Raise TimeoutError in the reader, or restart the timer.

        Only time spent reading counts.
        """
        silence_s = self._silence_s or 0.0
        now = self._loop.time()
        due = (now if self._waits_since is None else self._waits_since) + silence_s
        if not has_come(due, now):
            self._look_in(due - now)
        else:
            self._content.set_exception(TimeoutError("the server fell silent"))
