"""Adapter for Anthropic's Messages API: the SDK sends the request, we decode the stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.providers.adapter_base import EndpointAdapter
from oshaberi.providers.anthropic.anthropic_request_body import FAMILY, Fields, body, takes_prefill
from oshaberi.providers.anthropic.anthropic_wire_events import Event, read
from oshaberi.providers.anthropic.paused_turn import STOPPED, KeptBody, PausedTurn
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.connections.sdk_clients import http_client, pieces_of
from oshaberi.providers.error_classification import provider_error
from oshaberi.providers.refusals.request_negotiation import (
    RequestNegotiation,
)
from oshaberi.providers.request.endpoint import Endpoint
from oshaberi.providers.request.history_as_text import has_images
from oshaberi.providers.request.known_capabilities import known_capabilities
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.request_preparation import prepared
from oshaberi.providers.wire.actionable_errors import explained
from oshaberi.providers.wire.error_reading import read_failure
from oshaberi.providers.wire.sdk_loading import NO_KEY, load_sdk
from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object

MANDATORY = frozenset({"model", "max_tokens", "messages", "stream", "system"})


class AnthropicAdapter(EndpointAdapter):
    """One model behind `POST {base_url}/v1/messages`."""

    def __init__(self, endpoint: Endpoint) -> None:
        sdk = load_sdk("anthropic", "anthropic")
        super().__init__(endpoint)
        self._client = sdk.AsyncAnthropic(
            api_key=endpoint.api_key or NO_KEY,
            base_url=endpoint.base_url,
            max_retries=0,
            http_client=http_client(sdk, endpoint),
            default_headers=dict(endpoint.headers),
        )

    async def aclose(self) -> None:
        await self._client.close()

    read = staticmethod(read)

    def capabilities(self) -> ModelCapabilities:
        return known_capabilities(self.endpoint, FAMILY)

    def takes_prefill(self, request: Request) -> bool:
        return takes_prefill(request, self.capabilities())

    async def explain(self, problem: ProviderError) -> ProviderError:
        return await explained(problem, self.endpoint, FAMILY)

    def classify(self, error: Exception) -> ProviderError:
        known = self.endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """Yield the events. Changes and repeats a refused request, never a begun stream."""
        negotiation = RequestNegotiation(self.endpoint, FAMILY, MANDATORY)
        while True:
            ready = await prepared(request, self.endpoint, negotiation.capabilities)
            asked = body(ready, self.endpoint, negotiation.capabilities)
            wanted, turn, read_event, has_begun = asked, PausedTurn(), read_object, False
            try:
                while True:
                    decoder, kept = SseDecoder(), KeptBody()
                    async with self._creating(wanted) as response:
                        has_begun = True
                        negotiation.accepted()
                        async for piece in pieces_of(response, self.endpoint.budgets.body):
                            kept.add(piece)
                            for data in decoder.feed(piece):
                                yield read_event(data)
                        for data in decoder.finish():
                            yield read_event(data)
                    if not await turn.is_paused_by(kept):
                        return
                    if not turn.can_go_on:
                        yield STOPPED
                        return
                    wanted, read_event = turn.continued(asked), turn.read_event
            except Exception as error:
                if has_begun or not self._teaches(negotiation, error, asked, ready):
                    raise

    def _teaches(
        self, negotiation: RequestNegotiation, error: Exception, wanted: Fields, ready: Request
    ) -> bool:
        failure = read_failure(error)
        if failure.status is None:
            return False
        images = has_images(ready.items)
        return negotiation.refused(failure, self.classify(error), wanted, images)

    def _creating(self, wanted: Fields) -> Any:
        # In `extra_body`, the SDK does not walk through all messages for fields to rename.
        return self._client.messages.with_streaming_response.create(
            model=wanted["model"],
            max_tokens=wanted["max_tokens"],
            messages=(),
            stream=True,
            extra_body=wanted,
        )
