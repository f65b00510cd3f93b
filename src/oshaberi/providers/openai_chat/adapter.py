"""Adapter for OpenAI-compatible chat completions: most hosts, and local servers by base URL.

There is no SDK in it: the API is one route, and the adapter reads the stream itself (decision 34).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from oshaberi.chunks import ProviderError
from oshaberi.providers.base import EndpointAdapter
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.error_classification import FAILED_CALL, provider_error
from oshaberi.providers.openai_chat.events import Event, read
from oshaberi.providers.openai_chat.request import FAMILY, body
from oshaberi.providers.refusals.named_fields import Body
from oshaberi.providers.refusals.negotiation import (
    RequestNegotiation,
)
from oshaberi.providers.request.dialogue import has_images
from oshaberi.providers.request.model_request import Endpoint, Request
from oshaberi.providers.request.parameters import known_capabilities
from oshaberi.providers.request.preparation import prepared
from oshaberi.providers.wire.errors import StreamError, explained, read_failure
from oshaberi.providers.wire.json_post import JsonPost
from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object
from oshaberi.providers.wire.steps import FinishStep, Step

DEFAULT_BASE_URL = "https://api.openai.com/v1"
MANDATORY = frozenset({"model", "messages", "stream"})
Mend = Callable[[Body], Body | None]
"""Takes a body and returns it without a part; None if it does not have that part."""


class OpenAIChatAdapter(EndpointAdapter):
    """One model behind `POST {base_url}/chat/completions`."""

    family = FAMILY
    listed_as = ""
    """The family whose models are listed if this model does not exist; by default this family."""
    mandatory = MANDATORY
    route = "/chat/completions"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._keeps_reasoning = bool(endpoint.quirks.get("keeps_reasoning"))
        self._http = JsonPost(endpoint, DEFAULT_BASE_URL, "openai")

    async def aclose(self) -> None:
        await self._http.aclose()

    def read(self, event: Event) -> Sequence[Step]:
        return read(event, self._keeps_reasoning)

    def capabilities(self) -> ModelCapabilities:
        return known_capabilities(self.endpoint, self.family)

    def takes_prefill(self, _request: Request) -> bool:
        return "prefill" in self.endpoint.quirks and self.capabilities().prefill

    async def explain(self, problem: ProviderError) -> ProviderError:
        return await explained(problem, self.endpoint, self.listed_as or self.family)

    def classify(self, error: Exception) -> ProviderError:
        known = self.endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """Yield the events. Changes and repeats a refused request.

        Repeats nothing once a meaningful event has arrived.
        """
        negotiation = RequestNegotiation(self.endpoint, self.family, self.mandatory)
        mends: list[Mend] = []
        meaningful = is_repeated = False
        while True:
            ready = await prepared(request, self.endpoint, negotiation.capabilities)
            wanted: Body = negotiation.reduced(self._body(ready, negotiation.capabilities))
            for mend in mends:
                wanted = mend(wanted) or wanted
            decoder, read_event = SseDecoder(), self._event_reader()
            try:
                async with await self._answer(wanted) as pieces:
                    async for piece in pieces:
                        for data in decoder.feed(piece):
                            event = read_event(data)
                            if not meaningful and self._is_meaningful(event):
                                meaningful = True
                                negotiation.accepted()
                            yield event
                    for data in decoder.finish():
                        yield read_event(data)
                negotiation.accepted()
                return
            except Exception as error:
                if meaningful:
                    raise
                if not is_repeated and _failed_to_call(error):
                    is_repeated = True
                elif known := self._mend(wanted, error):
                    mends.append(known)
                elif not self._teaches(negotiation, error, wanted, ready):
                    raise

    def _body(self, request: Request, capabilities: ModelCapabilities) -> Body:
        """Return the request body."""
        return body(request, self.endpoint, capabilities)

    def _mend(self, _wanted: Body, _error: Exception) -> Mend | None:
        """Return a function that changes the refused body, if the family has one for this error."""
        return None

    def _event_reader(self) -> Callable[[str], Event]:
        """Return the function that reads the data of one stream's events."""
        return read_object

    def _is_meaningful(self, event: Event) -> bool:
        """Return whether an event has text, reasoning, a call or tokens.

        After such an event the request must not be repeated.
        """
        return any(not isinstance(step, FinishStep) for step in self.read(event))

    def _teaches(
        self, negotiation: RequestNegotiation, error: Exception, wanted: Body, ready: Request
    ) -> bool:
        failure = read_failure(error)
        if not isinstance(error, StreamError) and failure.status is None:
            return False
        images = has_images(ready.items)
        return negotiation.refused(failure, self.classify(error), wanted, images)

    async def _answer(self, wanted: Body) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._http.answer(self.route, wanted, await self._token())

    async def _token(self) -> str | None:
        return self.endpoint.api_key


def _failed_to_call(error: Exception) -> bool:
    """Return whether the server could not parse the model's tool call. A retry may work."""
    return FAILED_CALL in read_failure(error).codes
