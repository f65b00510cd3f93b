"""Adapters for Gemini, at Google and on Vertex AI: `google-genai` sends, we decode the stream.

The SDK's own events cost a hundred times as much as their JSON, lose the reason for a malformed
call, and end at a comment line. So the SDK only makes the request, authenticates, and explains
refusals.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from importlib import import_module
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.errors import Sentence
from oshaberi.providers.base import EndpointAdapter
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.cloud_accounts import vertex_address
from oshaberi.providers.connections.sdk import NO_KEY, load_sdk
from oshaberi.providers.error_classification import our_failure, provider_error
from oshaberi.providers.google.events import (
    GeminiEvent,
    PartialCalls,
    follow,
    read,
    refusal_failure,
)
from oshaberi.providers.google.request import FAMILY, arguments
from oshaberi.providers.model_listing import GOOGLE_VERSION
from oshaberi.providers.refusals.negotiation import (
    RequestNegotiation,
)
from oshaberi.providers.request.dialogue import has_images
from oshaberi.providers.request.model_request import Endpoint, Request
from oshaberi.providers.request.parameters import known_capabilities
from oshaberi.providers.wire.errors import StreamError, check_status, explained, read_failure
from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object

MANDATORY = frozenset({"system_instruction", "automatic_function_calling"})


class _AnsweredError(Exception):
    """Carries a streamed answer past the SDK, which would otherwise read it."""

    def __init__(self, response: Any) -> None:
        super().__init__("the provider answered")
        self.response = response


class GoogleAdapter(EndpointAdapter):
    """One Gemini model."""

    listed_as = FAMILY
    """The family whose models are listed if this model does not exist."""
    api_version = GOOGLE_VERSION

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        load_sdk("aiohttp", "google")
        self._http: Any = import_module("oshaberi.providers.connections.model_connections")
        self._genai = load_sdk("google.genai", "google")
        self._session = self._http.ModelSession(_take)
        self._client: Any = None
        self._tls: ssl.SSLContext | None = None

    def capabilities(self) -> ModelCapabilities:
        return known_capabilities(self.endpoint, FAMILY)

    def takes_prefill(self, _request: Request) -> bool:
        return self.capabilities().prefill

    async def events(self, request: Request) -> AsyncGenerator[GeminiEvent, None]:
        """Yield the events. Changes and repeats a refused request, never a begun stream."""
        negotiation = RequestNegotiation(self.endpoint, FAMILY, MANDATORY)
        silence_s = self.endpoint.silence_seconds
        while True:
            asked = await arguments(request, self.endpoint, negotiation.capabilities)
            asked["config"] = negotiation.reduced(asked["config"])
            event = GeminiEvent({})
            decoder = SseDecoder()
            calls = PartialCalls(self.endpoint.budgets.arguments)
            has_begun = False
            try:
                async with self._answer(asked) as response:
                    has_begun = True
                    negotiation.accepted()
                    most_bytes, headers = self.endpoint.budgets.body, response.headers
                    reading = self._http.StreamedBody(
                        response.content, silence_s, most_bytes, headers
                    )
                    with closing(reading) as body:
                        async for piece in body:
                            for data in decoder.feed(piece):
                                event = follow(event, calls.whole(read_object(data)))
                                yield event
                    for data in decoder.finish():
                        event = follow(event, calls.whole(read_object(data)))
                        yield event
                return
            except Exception as error:
                if has_begun or not self._teaches(negotiation, error, asked, request):
                    raise

    def _teaches(
        self,
        negotiation: RequestNegotiation,
        error: Exception,
        asked: dict[str, Any],
        request: Request,
    ) -> bool:
        failure = read_failure(error)
        if failure.status is None:
            return False
        images = has_images(request.items) and negotiation.capabilities.images
        return negotiation.refused(failure, self.classify(error), asked["config"], images)

    @asynccontextmanager
    async def _answer(self, asked: dict[str, Any]) -> AsyncIterator[Any]:
        """Yield the open response. Leaving the block early closes the connection."""
        client = await self._connected()
        stream = await client.aio.models.generate_content_stream(**asked)
        try:
            async with asyncio.timeout(self.endpoint.silence_seconds):
                await anext(stream)
        except _AnsweredError as answered:
            try:
                yield answered.response
            finally:
                answered.response.close()
        else:
            raise StreamError(our_failure(Sentence("this google-genai is not supported")))

    async def _connected(self) -> Any:
        """Return the SDK's client, on the connections that all adapters share."""
        if self._tls is None:
            # The client would make three of these for itself, a tenth of a second each time.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        if self._client is None:
            options = {
                "base_url": self._base_url(),
                "api_version": self.api_version,
                "headers": dict(self.endpoint.headers),
                "aiohttp_client": self._session.get(),
                "client_args": {"verify": self._tls},
                "async_client_args": {"verify": self._tls, "ssl": self._tls},
                # Otherwise a refused connection is tried again after up to ten seconds.
                "retry_options": {"attempts": 1},
            }
            self._client = self._genai.Client(**self._account(), http_options=options)
        return self._client

    def _base_url(self) -> str | None:
        return self.endpoint.base_url

    def _account(self) -> dict[str, Any]:
        """Return how the SDK signs in."""
        return {"api_key": self.endpoint.api_key or NO_KEY, "vertexai": False}

    read = staticmethod(read)

    async def explain(self, problem: ProviderError) -> ProviderError:
        return await explained(problem, self.endpoint, self.listed_as)

    def classify(self, error: Exception) -> ProviderError:
        known = self.endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aio.aclose()
            client.close()
        await self._session.aclose()


async def _take(request: Any, handler: Any) -> Any:
    """Take streams and refusals away from the SDK, which would read them to the end."""
    response = await handler(request)
    try:
        await check_status(response, refusal_failure)
    except BaseException:
        response.close()
        raise
    raise _AnsweredError(response)


# Gemini on Vertex AI: the same requests and answers, in a project and a region of Google Cloud.
#
# `google-genai` finds the credentials and asks for tokens. A key is sent as an access token.


class VertexAdapter(GoogleAdapter):
    """One Gemini model in a project of Google Cloud."""

    listed_as = "vertex"
    api_version = "v1"

    def _base_url(self) -> str:
        return self.endpoint.base_url or vertex_address(self.endpoint.region or "")

    def _account(self) -> dict[str, Any]:
        token = self.endpoint.api_key
        account = {
            "vertexai": True,
            "project": self.endpoint.project,
            "location": self.endpoint.region,
        }
        if token is None:
            return account
        credentials = import_module("google.oauth2.credentials").Credentials(token)
        return {**account, "credentials": credentials}
