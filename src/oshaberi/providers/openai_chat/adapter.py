"""Adapter for OpenAI-compatible chat completions: most hosts, and local servers by base URL.

The SDK brings transport, authentication and typed HTTP errors; the lines are decoded here, which
is many times cheaper than the SDK's typed events.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.providers.adapter_base import Adapter
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.error_classification import provider_error
from oshaberi.providers.key_redactor import KeyRedactor
from oshaberi.providers.openai_chat.body import body
from oshaberi.providers.openai_chat.events import DONE, Event, read
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.request_preparation import prepared
from oshaberi.providers.wire.parameter_fallback import MANDATORY, Body, ParameterFallback
from oshaberi.providers.wire.sdk_loading import (
    NO_KEY,
    StreamError,
    http_client,
    load_sdk,
    read_failure,
)
from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object
from oshaberi.providers.wire.wire_steps import FinishStep, Step

_ABOUT_PARAMETERS = frozenset({None, 400, 404, 405, 406, 409, 415, 422, 501})
"""Statuses of a refusal that fewer parameters may help; None is an error event of a stream."""


class OpenAIChatAdapter(Adapter):
    """One model behind `POST {base_url}/chat/completions`."""

    def __init__(self, endpoint: Endpoint) -> None:
        sdk = load_sdk("openai", "openai")
        self.name = endpoint.name
        self.model = endpoint.model
        self.reemits = endpoint.reemits
        self._endpoint = endpoint
        self._redact = KeyRedactor.of(endpoint)
        self._keeps_reasoning = bool(endpoint.quirks.get("keeps_reasoning"))
        self._client = sdk.AsyncOpenAI(
            api_key=endpoint.api_key or NO_KEY,
            base_url=endpoint.base_url,
            max_retries=0,
            http_client=http_client(sdk, endpoint),
            # Left out, the SDK would take them from the environment and send them to anybody.
            default_headers={
                "OpenAI-Organization": sdk.Omit(),
                "OpenAI-Project": sdk.Omit(),
                **endpoint.headers,
            },
        )

    async def aclose(self) -> None:
        await self._client.close()

    def read(self, event: Event) -> Sequence[Step]:
        return read(event, self._keeps_reasoning)

    def classify(self, error: Exception) -> ProviderError:
        known = self._endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """Tried again with fewer parameters, but never after something meaningful came."""
        wanted: Body | None = body(await prepared(request, self._endpoint), self._endpoint)
        fallback = ParameterFallback(wanted or {})
        meaningful = False
        while wanted is not None:
            decoder = SseDecoder()
            try:
                async with self._creating(wanted) as response:
                    async for piece in response.iter_bytes():
                        for data in decoder.feed(piece):
                            event = _event(data)
                            meaningful = meaningful or self._is_meaningful(event)
                            yield event
                    for data in decoder.finish():
                        yield _event(data)
                return
            except Exception as error:
                wanted = None if meaningful else self._fewer(fallback, error)
                if wanted is None:
                    raise

    def _is_meaningful(self, event: Event) -> bool:
        """Text, reasoning, a call or tokens: whatever comes after must not come twice."""
        return any(not isinstance(step, FinishStep) for step in self.read(event))

    def _fewer(self, fallback: ParameterFallback, error: Exception) -> Body | None:
        failure = read_failure(error)
        said_so = isinstance(error, StreamError) or failure.status is not None
        if not said_so or failure.kind is not None or failure.status not in _ABOUT_PARAMETERS:
            return None
        problem = self.classify(error)
        if problem.type != "api_error" or problem.retryable:
            return None
        return fallback.down(f"{failure.message} {getattr(error, 'param', None) or ''}")

    def _creating(self, wanted: Body) -> Any:
        rest = {key: value for key, value in wanted.items() if key not in MANDATORY}
        return self._client.chat.completions.with_streaming_response.create(
            model=wanted["model"], messages=wanted["messages"], stream=True, extra_body=rest
        )


def _event(data: str) -> Event:
    return DONE if data.startswith("[DONE]") else read_object(data)
