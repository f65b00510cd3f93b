"""Adapter for Anthropic's Messages API: the SDK sends the request, we decode the stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.providers.adapter_base import Adapter
from oshaberi.providers.anthropic.body import Fields, body
from oshaberi.providers.anthropic.events import Event, read
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.error_classification import provider_error
from oshaberi.providers.key_redactor import KeyRedactor
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.request_preparation import prepared
from oshaberi.providers.wire.sdk_loading import NO_KEY, http_client, load_sdk, read_failure
from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object
from oshaberi.providers.wire.wire_steps import Step

_OWN = frozenset({"model", "max_tokens", "messages", "stream"})


class AnthropicAdapter(Adapter):
    """One model behind `POST {base_url}/v1/messages`."""

    def __init__(self, endpoint: Endpoint) -> None:
        sdk = load_sdk("anthropic", "anthropic")
        self.name = endpoint.name
        self.model = endpoint.model
        self.reemits = endpoint.reemits
        self._endpoint = endpoint
        self._redact = KeyRedactor.of(endpoint)
        self._client = sdk.AsyncAnthropic(
            api_key=endpoint.api_key or NO_KEY,
            base_url=endpoint.base_url,
            max_retries=0,
            http_client=http_client(sdk, endpoint),
            default_headers=dict(endpoint.headers),
        )

    async def aclose(self) -> None:
        await self._client.close()

    def read(self, event: Event) -> Sequence[Step]:
        return read(event)

    def classify(self, error: Exception) -> ProviderError:
        known = self._endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        wanted = body(await prepared(request, self._endpoint), self._endpoint)
        decoder = SseDecoder()
        async with self._creating(wanted) as response:
            async for piece in response.iter_bytes():
                for data in decoder.feed(piece):
                    yield read_object(data)
            for data in decoder.finish():
                yield read_object(data)

    def _creating(self, wanted: Fields) -> Any:
        rest = {key: value for key, value in wanted.items() if key not in _OWN}
        return self._client.messages.with_streaming_response.create(
            model=wanted["model"],
            max_tokens=wanted["max_tokens"],
            messages=wanted["messages"],
            stream=True,
            extra_body=rest,
        )
