"""Gives an SDK its HTTP client: aiohttp on the shared connections, or httpx2 behind a proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.request import getproxies

from oshaberi.providers.request.endpoint import Endpoint

BODY = "oshaberi_body"
"""The name of a response's extension: its body without the layers of httpx2."""

_PROXIED = frozenset({"http", "https", "all"})


def http_client(sdk: Any, endpoint: Endpoint) -> Any:
    """Return the SDK's HTTP client with our timeouts. Loads certificates once (45 ms, 1 MB).

    It uses aiohttp, unless that is not installed or the environment names a proxy.
    """
    timeout = sdk.Timeout(endpoint.silence_seconds, connect=endpoint.connect_seconds)
    way = {"verify": _certificates()} if _needs_httpx() else {"transport": _transport()}
    return sdk.DefaultAsyncHttpxClient(**way, timeout=timeout, follow_redirects=False)


def pieces_of(response: Any) -> AsyncIterator[bytes]:
    """Return the body of an SDK's streamed response, in pieces as they arrive."""
    body = response.http_response.extensions.get(BODY)
    if body is None or "content-encoding" in response.headers:
        pieces: AsyncIterator[bytes] = response.iter_bytes()
        return pieces
    return aiter(body)


def _needs_httpx() -> bool:
    return bool(_PROXIED & getproxies().keys()) or find_spec("aiohttp") is None


def _transport() -> Any:
    transport = import_module("oshaberi.providers.connections.aiohttp_transport")
    return transport.AiohttpTransport(_certificates())


@cache
def _certificates() -> Any:
    return import_module("httpx2").create_ssl_context()
