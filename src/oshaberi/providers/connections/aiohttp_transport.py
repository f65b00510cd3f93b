"""Sends an SDK's HTTP requests with aiohttp, and reads a streamed body without the SDK's layers.

It raises the errors of httpx2, which the SDKs know, and never follows redirects.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx2
from yarl import URL

from oshaberi.providers.connections.model_connections import ModelSession, StreamedBody
from oshaberi.providers.connections.sdk import BODY
from oshaberi.providers.request.answer_budgets import MOST_BODY_BYTES


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """One adapter's transport, on the connections that all adapters share."""

    def __init__(self, tls: ssl.SSLContext, most_bytes: int = MOST_BODY_BYTES) -> None:
        self._session = ModelSession()
        self._tls = tls
        self._most_bytes = most_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        limits = request.extensions.get("timeout", {})
        try:
            response = await self._session.get().request(
                request.method,
                # The client has turned its user name and password into a header.
                URL(str(request.url), encoded=True).with_user(None),
                headers=request.headers.multi_items(),
                data=await request.aread() or None,
                timeout=_timeout(limits),
                ssl=self._tls,
                allow_redirects=False,
            )
        except TimeoutError as late:
            raise httpx2.TimeoutException(str(late), request=request) from late
        except (aiohttp.ClientError, OSError) as failed:
            raise httpx2.NetworkError(str(failed), request=request) from failed
        body = _AiohttpBody(response, limits.get("read"), self._most_bytes)
        # The body is unpacked already.
        headers = [one for one in response.raw_headers if one[0].lower() != b"content-encoding"]
        return httpx2.Response(
            response.status, headers=headers, stream=body, extensions={BODY: body}
        )

    async def aclose(self) -> None:
        await self._session.aclose()


class _AiohttpBody(httpx2.AsyncByteStream):
    """A body as httpx2 reads it. If it is closed early, it closes the connection at once."""

    def __init__(
        self, response: aiohttp.ClientResponse, silence_s: float | None, most_bytes: int
    ) -> None:
        self._response = response
        self._body = StreamedBody.of(response, silence_s, most_bytes)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body

    async def aclose(self) -> None:
        self._body.close()
        self._response.close()


def _timeout(given: dict[str, Any]) -> aiohttp.ClientTimeout:
    connect = given.get("connect")
    return aiohttp.ClientTimeout(connect=connect, sock_connect=connect, sock_read=given.get("read"))
