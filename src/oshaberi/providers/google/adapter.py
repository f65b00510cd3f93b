"""Adapter for Google Gemini: `google-genai` sends the request, we decode the stream.

The SDK's own events cost a hundred times their JSON, lose the reason of a malformed call, and end
at a comment line. So it makes the request, authenticates, and tells what a refusal means.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.providers.adapter_base import Adapter
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.error_classification import ProviderFailure, our_failure, provider_error
from oshaberi.providers.google.body import arguments
from oshaberi.providers.google.events import GeminiEvent, error_failure, follow, read
from oshaberi.providers.key_redactor import KeyRedactor
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.sdk_loading import (
    NO_KEY,
    REDIRECTS,
    StreamError,
    load_sdk,
    read_failure,
    redirected,
)
from oshaberi.providers.wire.sse_decoder import SseDecoder


class _AnsweredError(Exception):
    """Carries an answer that is a stream past the SDK, which would read it."""

    def __init__(self, response: Any) -> None:
        super().__init__("the provider answered")
        self.response = response


class GoogleAdapter(Adapter):
    """A Gemini model. Each stream has a client, and so a connection, of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self.model = endpoint.model
        self.reemits = endpoint.reemits
        self._endpoint = endpoint
        self._genai = load_sdk("google.genai", "google")
        self._errors = load_sdk("google.genai.errors", "google")
        self._aiohttp = load_sdk("aiohttp", "google")
        self._redact = KeyRedactor.of(endpoint)
        self._tls: ssl.SSLContext | None = None

    async def events(self, request: Request) -> AsyncGenerator[GeminiEvent, None]:
        asked = await arguments(request, self._endpoint)
        event = GeminiEvent({})
        decoder = SseDecoder()
        async with self._answer(asked) as response:
            while piece := await self._piece(response):
                for data in decoder.feed(piece):
                    event = follow(event, _document(data))
                    yield event
            for data in decoder.finish():
                event = follow(event, _document(data))
                yield event

    async def _piece(self, response: Any) -> bytes:
        """The SDK's own timeout is for the whole stream; only its silences are limited here."""
        async with asyncio.timeout(self._endpoint.silence_seconds):
            piece: bytes = await response.content.readany()
            return piece

    @asynccontextmanager
    async def _answer(self, asked: dict[str, Any]) -> AsyncIterator[Any]:
        """The response, open; closed at the end with all that belongs to it."""
        async with self._client() as client:
            stream = await client.aio.models.generate_content_stream(**asked)
            try:
                async with asyncio.timeout(self._endpoint.silence_seconds):
                    await anext(stream)
            except _AnsweredError as answered:
                try:
                    yield answered.response
                finally:
                    answered.response.close()
            else:
                raise StreamError(our_failure("this google-genai is not supported"))

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        if self._tls is None:
            # A client would make three of these for itself, a tenth of a second each time.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        async with self._aiohttp.ClientSession(middlewares=(_take,)) as session:
            options = {
                "base_url": self._endpoint.base_url,
                "headers": dict(self._endpoint.headers),
                "aiohttp_client": session,
                "client_args": {"verify": self._tls},
                "async_client_args": {"verify": self._tls, "ssl": self._tls},
                # Without this a refused connection is tried again after up to ten seconds.
                "retry_options": {"attempts": 1},
            }
            key = self._endpoint.api_key or NO_KEY
            client = self._genai.Client(api_key=key, vertexai=False, http_options=options)
            try:
                yield client
            finally:
                await client.aio.aclose()
                client.close()

    read = staticmethod(read)

    def classify(self, error: Exception) -> ProviderError:
        known = self._endpoint.is_known_server
        return provider_error(self._failure(error), self.name, self._redact, is_known=known)

    async def aclose(self) -> None:
        """Every stream closed its own connection."""

    def _failure(self, error: Exception) -> ProviderFailure:
        if isinstance(error, self._errors.APIError):
            return error_failure(error.code, error.status, error.message, error.details)
        return read_failure(error)


async def _take(request: Any, handler: Any) -> Any:
    """Refusals are for the SDK to read; a stream is for us."""
    response = await handler(request)
    if response.status == 200:
        raise _AnsweredError(response)
    if response.status in REDIRECTS:
        response.close()
        raise StreamError(redirected(response.status))
    return response


def _document(data: str) -> dict[str, Any]:
    document = json.loads(data)
    if not isinstance(document, dict):
        raise TypeError("an event is not an object")
    return document
