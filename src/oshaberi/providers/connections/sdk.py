"""A provider's SDK: imported when it is needed, with an HTTP client on the shared connections."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.request import getproxies

from oshaberi.errors import ConfigError, Sentence
from oshaberi.foreign_bodies import PLAIN, body_beginning, pieces_within
from oshaberi.providers.request.answer_budgets import MOST_BODY_BYTES
from oshaberi.providers.request.model_request import Endpoint

# Imports an SDK when an adapter is made, and says how to install a missing one.


NO_KEY = "none"
"""Sent where no key is needed. It is never left out, because an SDK would then look for one in the
environment."""


def load_sdk(module: str, extra: str) -> Any:
    """Import the SDK. Raises ConfigError with the install command if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != module.partition(".")[0]:
            raise
        command = f'pip install "oshaberi[{extra}]"'
        words = Sentence(
            "the {module} package is not installed: {command}", module=module, command=command
        )
        raise ConfigError(words) from None


@contextmanager
def without_variable(name: str) -> Iterator[None]:
    """Hide a variable of the environment while an SDK's client is made.

    The client would send the headers that it names, a key among them, to whatever server it gets.
    """
    given = os.environ.pop(name, None)
    try:
        yield
    finally:
        if given is not None:
            os.environ[name] = given


# Gives an SDK its HTTP client: aiohttp on the shared connections, or httpx2 behind a proxy.


BODY = "oshaberi_body"
"""The name of a response's extension: its body without the layers of httpx2."""

_PROXIED = frozenset({"http", "https", "all"})


def http_client(sdk: Any, endpoint: Endpoint) -> Any:
    """Return the SDK's HTTP client with our timeouts. Loads certificates once (45 ms, 1 MB).

    It uses aiohttp, unless that is not installed or the environment names a proxy.
    """
    timeout = sdk.Timeout(endpoint.silence_seconds, connect=endpoint.connect_seconds)
    way: dict[str, Any] = {"verify": _certificates()}
    if not _needs_httpx():
        way = {"transport": _transport(endpoint.budgets.body)}
    return sdk.DefaultAsyncHttpxClient(
        **way,
        timeout=timeout,
        follow_redirects=False,
        headers=PLAIN,
        event_hooks={"response": [_shorten_refusal]},
    )


def pieces_of(response: Any, most_bytes: int = MOST_BODY_BYTES) -> AsyncIterator[bytes]:
    """Return the body of an SDK's streamed response, in pieces as they arrive."""
    body = response.http_response.extensions.get(BODY)
    if body is None:
        raw = response.http_response.aiter_raw()
        return pieces_within(raw, response.headers, most_bytes)
    return aiter(body)


async def _shorten_refusal(response: Any) -> None:
    """Keep the beginning of a refusal, because the SDK reads all of it."""
    if response.is_success:
        return
    content = await body_beginning(response.stream, response.headers)
    await response.stream.aclose()
    response.headers.pop("content-encoding", None)
    response.stream = import_module("httpx2").ByteStream(content)


def _needs_httpx() -> bool:
    return bool(_PROXIED & getproxies().keys()) or find_spec("aiohttp") is None


def _transport(most_bytes: int) -> Any:
    transport = import_module("oshaberi.providers.connections.aiohttp_transport")
    return transport.AiohttpTransport(_certificates(), most_bytes)


@cache
def _certificates() -> Any:
    return import_module("httpx2").create_ssl_context()
