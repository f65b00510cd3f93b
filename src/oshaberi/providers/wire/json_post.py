"""Posts JSON to a model server, and reads its answer as it arrives: for APIs that need no SDK.

Such an API is a route and a key in a header, and the adapters read the stream themselves. Decision
34 says why OpenAI's is one of them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from oshaberi import __version__
from oshaberi.providers.connections.sdk import load_sdk
from oshaberi.providers.request.model_request import Endpoint
from oshaberi.providers.wire.errors import check_status


class JsonPost:
    """The requests of one adapter, on the connections that all adapters share.

    Raises ConfigError if aiohttp is missing; `extra` is what installs it.
    """

    def __init__(self, endpoint: Endpoint, default_url: str, extra: str) -> None:
        aiohttp = load_sdk("aiohttp", extra)
        self._connections: Any = import_module("oshaberi.providers.connections.model_connections")
        self._session = self._connections.ModelSession()
        self._base_url = (endpoint.base_url or default_url).rstrip("/")
        self._headers = endpoint.headers
        self._silence_s = endpoint.silence_seconds
        self._most_bytes = endpoint.budgets.body
        self._timeout = aiohttp.ClientTimeout(
            total=None,
            connect=endpoint.connect_seconds,
            sock_connect=endpoint.connect_seconds,
            sock_read=endpoint.silence_seconds,
        )

    @asynccontextmanager
    async def answer(
        self, path: str, wanted: Mapping[str, Any], token: str | None
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """Post a request, and yield the body of the answer, in pieces.

        Raises StreamError if it is refused. Leaving the block early closes the connection.
        """
        url = self._base_url + path
        response = await self._session.get().post(
            url,
            data=_as_json(wanted),
            headers=self._all_headers(token),
            timeout=self._timeout,
            proxy=self._connections.proxy_for(url),
            allow_redirects=False,
        )
        try:
            await check_status(response)
            body = self._connections.StreamedBody.of(response, self._silence_s, self._most_bytes)
            try:
                yield body
            finally:
                body.close()
        finally:
            response.close()

    async def aclose(self) -> None:
        await self._session.aclose()

    def _all_headers(self, token: str | None) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": f"oshaberi/{__version__}"}
        # aiohttp makes a header of the name and the password in a URL itself.
        if token and urlsplit(self._base_url).username is None:
            headers["Authorization"] = f"Bearer {token}"
        return {**headers, **self._headers}


def _as_json(wanted: Mapping[str, Any]) -> bytes:
    # Half a surrogate pair, which no API takes, becomes a question mark.
    return json.dumps(wanted, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
