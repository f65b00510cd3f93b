"""Adapter for Anthropic's Messages API: the SDK sends the request, we decode the stream.

An answer that the API paused while it ran its own tools (`pause_turn`) is continued.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from oshaberi.checked_json import parse_json, whole_count
from oshaberi.chunks import ProviderError
from oshaberi.foreign_bodies import cut
from oshaberi.providers.anthropic.events import Event, read
from oshaberi.providers.anthropic.request import FAMILY, Fields, body, takes_prefill
from oshaberi.providers.base import EndpointAdapter
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.connections.sdk import (
    NO_KEY,
    http_client,
    load_sdk,
    pieces_of,
    without_variable,
)
from oshaberi.providers.error_classification import provider_error
from oshaberi.providers.refusals.negotiation import (
    RequestNegotiation,
)
from oshaberi.providers.request.dialogue import has_images
from oshaberi.providers.request.model_request import Endpoint, Request
from oshaberi.providers.request.parameters import known_capabilities
from oshaberi.providers.request.preparation import prepared
from oshaberi.providers.wire.errors import explained, read_failure
from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object
from oshaberi.providers.wire.steps import PAUSED

# Continues an answer that the API paused while it ran its own tools (`pause_turn`).
#
# To continue, the API wants back everything that it has sent so far. The continuation restarts its
# # indexes and token counts; here they become those of a single answer. Nothing is done per token
# before a pause: the body that ended with the pause is parsed once more.


MOST_PAUSES = 5
MOST_KEPT_BYTES = 4 * 1024 * 1024
"""The longest body that is kept whole. After a longer one, a paused answer cannot be continued."""
_KEPT_END_BYTES = 4096
STOPPED: Event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
"""The event that ends an answer that paused too often."""

_COUNTED = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)


class KeptBody:
    """The bytes of one answer until its end; only the last of them if there are too many."""

    def __init__(self, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self.is_whole = True
        self._pieces: list[bytes] = []
        self._size = 0
        self._most_bytes = most_bytes

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._most_bytes:
            self.is_whole = False
            end = self.read()[-_KEPT_END_BYTES:]
            self._pieces, self._size = [end], len(end)

    def read(self) -> bytes:
        return b"".join(self._pieces)


class PausedTurn:
    """One answer over all its pauses. The adapter passes in each body when it has ended."""

    def __init__(self) -> None:
        self.pauses = 0
        self._is_lost = False
        self._blocks: list[_AnswerBlock] = []
        self._counted: dict[str, int] = {}

    @property
    def can_go_on(self) -> bool:
        """Return whether the answer so far is known and has not paused too often."""
        return not self._is_lost and self.pauses <= MOST_PAUSES

    async def is_paused_by(self, kept: KeptBody) -> bool:
        """Return whether this body ended with a pause."""
        body = kept.read()
        if PAUSED.encode() not in body:
            return False
        if not kept.is_whole:
            self._is_lost = True
            return True
        events = [event async for event in _events(body)]
        if not any(map(_is_pause, events)):
            return False
        self.pauses += 1
        counted: dict[str, int] = {}
        for event in events:
            self._note(event)
            counted |= _counts(_message(event).get("usage"))
        for name, tokens in counted.items():
            self._counted[name] = self._counted.get(name, 0) + tokens
        return True

    def continued(self, body: Fields) -> Fields:
        """Return the first request with the answer so far appended, for the model to continue."""
        said = [made for block in self._blocks if (made := block.whole())]
        *before, last = body["messages"]
        if last["role"] == "assistant":
            said = [*last["content"], *said]
        else:
            before.append(last)
        return {**body, "messages": [*before, {"role": "assistant", "content": said}]}

    def read_event(self, data: str) -> Fields:
        """Read an event after a pause, with the indexes and token counts of the whole answer."""
        event = read_object(data)
        if "index" in event:
            return {**event, "index": event["index"] + len(self._blocks)}
        if "message" in event:
            return {**event, "message": self._with_all_tokens(event["message"])}
        return self._with_all_tokens(event) if event.get("usage") else event

    def _note(self, event: Event) -> None:
        match event.get("type"):
            case "message_start" | "message":
                self._blocks += map(_AnswerBlock, _message(event).get("content") or ())
            case "content_block_start":
                self._blocks.append(_AnswerBlock(event["content_block"]))
            case "content_block_delta" if self._blocks:
                # Blocks come one after the other.
                self._blocks[-1].grow(event["delta"])

    def _with_all_tokens(self, holder: Event) -> Fields:
        counted = _counts(holder.get("usage"))
        usage = {name: counted[name] + self._counted.get(name, 0) for name in counted}
        return {**holder, "usage": usage}


class _AnswerBlock:
    """One block of the answer, as it is sent back to the API."""

    def __init__(self, begun: Event) -> None:
        self._fields = dict(begun)
        self._grown: dict[str, list[str]] = {}
        self._cited: list[Any] = []

    def grow(self, delta: Event) -> None:
        match delta["type"]:
            case "text_delta":
                self._grow("text", delta["text"])
            case "thinking_delta":
                self._grow("thinking", delta["thinking"])
            case "signature_delta":
                self._grow("signature", delta["signature"])
            case "input_json_delta":
                self._grow("input", delta["partial_json"])
            case "citations_delta":
                self._cited.append(delta["citation"])

    def _grow(self, name: str, piece: str) -> None:
        self._grown.setdefault(name, []).append(piece)

    def whole(self) -> Fields | None:
        """Return the block, or None if it is empty: the API refuses an empty text."""
        made = dict(self._fields)
        if self._cited:
            made["citations"] = [*(made.get("citations") or ()), *self._cited]
        for name, pieces in self._grown.items():
            grown = "".join(pieces)
            if grown and name == "input":
                made[name] = parse_json(grown)
            elif grown:
                made[name] = (made.get(name) or "") + grown
        is_empty = made.get("type") == "text" and not (made.get("text") or "").strip()
        return None if is_empty else made


async def _events(body: bytes) -> AsyncIterator[Event]:
    """Yield the events of a body.

    The event loop gets a turn in between, as it did when they arrived.
    """
    decoder = SseDecoder()
    for piece in cut(body):
        for data in decoder.feed(piece):
            yield read_object(data)
        await asyncio.sleep(0)
    for data in decoder.finish():
        yield read_object(data)


def _counts(usage: Any) -> dict[str, int]:
    given = usage if isinstance(usage, Mapping) else {}
    counts = {name: whole_count(given.get(name)) for name in _COUNTED}
    return {name: tokens for name, tokens in counts.items() if tokens is not None}


def _message(event: Event) -> Event:
    """Return the part of an event that has the fields of a message."""
    message: Event = event.get("message") or event
    return message


def _is_pause(event: Event) -> bool:
    delta: Event = event.get("delta") or _message(event)
    return delta.get("stop_reason") == PAUSED


# Adapter for Anthropic's Messages API: the SDK sends the request, we decode the stream.


MANDATORY = frozenset({"model", "max_tokens", "messages", "stream", "system"})
_BY_NAME = frozenset({"model", "stream"})


class Decoder(Protocol):
    """Decodes one body: `SseDecoder`, or a decoder for a cloud's own framing."""

    def feed(self, piece: bytes) -> Sequence[str]: ...

    def finish(self) -> Sequence[str]: ...


class AnthropicAdapter(EndpointAdapter):
    """One model behind `POST {base_url}/v1/messages`."""

    listed_as = FAMILY
    """The family whose models are listed if this model does not exist."""
    decoder: type[Decoder] = SseDecoder

    def __init__(self, endpoint: Endpoint) -> None:
        sdk = load_sdk("anthropic", "anthropic")
        super().__init__(endpoint)
        common = {
            "base_url": endpoint.base_url,
            "max_retries": 0,
            "http_client": http_client(sdk, endpoint),
            "default_headers": dict(endpoint.headers),
        }
        with without_variable("ANTHROPIC_CUSTOM_HEADERS"):
            self._client = self._client_of(sdk, common)

    def _client_of(self, sdk: Any, common: dict[str, Any]) -> Any:
        return sdk.AsyncAnthropic(api_key=self.endpoint.api_key or NO_KEY, **common)

    async def aclose(self) -> None:
        await self._client.close()

    read = staticmethod(read)

    def capabilities(self) -> ModelCapabilities:
        return known_capabilities(self.endpoint, FAMILY)

    def takes_prefill(self, request: Request) -> bool:
        return takes_prefill(request, self.capabilities())

    async def explain(self, problem: ProviderError) -> ProviderError:
        return await explained(problem, self.endpoint, self.listed_as)

    def classify(self, error: Exception) -> ProviderError:
        known = self.endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """Yield the events. Changes and repeats a refused request, never a begun stream."""
        negotiation = RequestNegotiation(self.endpoint, FAMILY, MANDATORY)
        while True:
            ready = await prepared(request, self.endpoint, negotiation.capabilities)
            asked = negotiation.reduced(body(ready, self.endpoint, negotiation.capabilities))
            wanted, turn, read_event, has_begun = asked, PausedTurn(), read_object, False
            try:
                while True:
                    decoder, kept = self.decoder(), KeptBody()
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
        # In `extra_body`, the SDK does not walk through all messages for fields to rename. If the
        # model belongs in the path, the SDK takes it from its keyword arguments.
        rest = {name: value for name, value in wanted.items() if name not in _BY_NAME}
        return self._client.messages.with_streaming_response.create(
            model=wanted["model"],
            max_tokens=wanted["max_tokens"],
            messages=(),
            stream=True,
            extra_body=rest,
        )
