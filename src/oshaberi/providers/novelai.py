"""Adapter for NovelAI over plain HTTP: the model continues a text, token by token.

The API has no roles, no stop strings and no finish reason: the adapter adds all three. An answer
that ran out of tokens says in `continuation_prefill` where the next request can continue.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oshaberi.checked_json import parse_json
from oshaberi.chunks import Chunk, ProviderError
from oshaberi.providers.base import EndpointAdapter
from oshaberi.providers.error_classification import provider_error
from oshaberi.providers.request.dialogue import DialogueTurn, as_text, system_text, turns
from oshaberi.providers.request.model_request import Endpoint, Request, ToolRound
from oshaberi.providers.request.parameters import stop_strings
from oshaberi.providers.request.preparation import prepared
from oshaberi.providers.wire.errors import (
    StreamError,
    body_failure,
    explained,
    read_failure,
)
from oshaberi.providers.wire.json_post import JsonPost
from oshaberi.providers.wire.sse_decoder import SseDecoder
from oshaberi.providers.wire.steps import FinishStep, Step
from oshaberi.providers.wire.text_outlet import StopStringCut

DEFAULT_BASE_URL = "https://text.novelai.net"
DEFAULT_LENGTH = 150
SCENE_BREAK = "***"

Event = Mapping[str, Any]


class NovelAIAdapter(EndpointAdapter):
    """One model behind `POST {base_url}/ai/generate-stream`.

    The quirks `user` and `assistant` are the labels of the two sides of the conversation.
    """

    endpoint: Endpoint
    continues = True

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._http = JsonPost(endpoint, DEFAULT_BASE_URL, "novelai")

    def takes_prefill(self, _request: Request) -> bool:
        return True

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """Yield the tokens that may be shown, then one event with the finish reason."""
        ready = await prepared(request, self.endpoint)
        wanted = body(ready, self.endpoint)
        answer = _NovelAIStream(ready, self.endpoint, wanted["parameters"]["max_length"])
        key = self.endpoint.api_key
        async with self._http.answer("/ai/generate-stream", wanted, key) as pieces:
            decoder = SseDecoder()
            async for piece in pieces:
                for data in decoder.feed(piece):
                    yield {"token": answer.take(_event(data))}
                    if answer.reason is not None:
                        yield answer.end()
                        return
            for data in decoder.finish():
                yield {"token": answer.take(_event(data))}
            if answer.reason is not None:
                yield answer.end()

    def read(self, event: Event) -> Sequence[Step]:
        if "reason" not in event:
            return (Chunk("text", event["token"]),) if event["token"] else ()
        rest = event["continuation"]
        ended = FinishStep(event["reason"])
        return (Chunk("done", continuation_prefill=rest), ended) if rest else (ended,)

    async def explain(self, problem: ProviderError) -> ProviderError:
        return await explained(problem, self.endpoint, "novelai")

    def classify(self, error: Exception) -> ProviderError:
        known = self.endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def aclose(self) -> None:
        await self._http.aclose()


# -- asking --------------------------------------------------------------------------------------


def body(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    parameters = {
        "use_string": True,
        "max_length": request.max_output_tokens or DEFAULT_LENGTH,
        "min_length": 1,
        "temperature": request.temperature,
        "top_p": request.top_p,
        **endpoint.quirks.get("body", {}),
        **request.extra,
    }
    given = {key: value for key, value in parameters.items() if value is not None}
    return {"input": prompt(request, endpoint), "model": endpoint.model, "parameters": given}


def prompt(request: Request, endpoint: Endpoint) -> str:
    """Return the conversation as a text that ends where the model should continue."""
    lines = [text for text in (system_text(request.items), SCENE_BREAK) if text]
    for turn in turns(request.items):
        if isinstance(turn, DialogueTurn):
            said = "\n".join(map(as_text, turn.parts))
            lines.append(f"{_label(endpoint, turn.role)}: {said}")
        else:
            lines += _round(turn, _label(endpoint, "assistant"))
    begun = f" {request.prefill}" if request.prefill else ""
    return "\n".join([*lines, f"{_label(endpoint, 'assistant')}:{begun}"])


def _label(endpoint: Endpoint, role: str) -> str:
    return str(endpoint.quirks.get(role, role.capitalize()))


def _round(turn: ToolRound, label: str) -> list[str]:
    """Return a tool round of another model as text: this API has no tools."""
    found = [
        f"[{call.name}: {result.content}]"
        for call, result in zip(turn.calls, turn.results, strict=False)
    ]
    return [*([f"{label}: {turn.text}"] if turn.text else []), *found]


# -- listening -----------------------------------------------------------------------------------


class _NovelAIStream:
    """The text so far, and why it ended if it has."""

    def __init__(self, request: Request, endpoint: Endpoint, most_tokens: int) -> None:
        own = (f"\n{_label(endpoint, 'user')}:", f"\n{SCENE_BREAK}")
        self.reason: str | None = None
        # Labels of speakers are left to the hold-back, which says that it was one.
        self._until = StopStringCut(stop_strings(replace(request, speaker_guard=False), own))
        self._left = most_tokens
        self._said = [request.prefill or ""]

    def take(self, event: Event) -> str:
        """Return the part of a token that may be shown."""
        if not event:
            return ""
        if "token" not in event:
            raise StreamError(body_failure(event, event.get("statusCode")))
        self._left -= 1
        shown = self._until.feed(str(event["token"] or ""))
        if self._until.is_found:
            self.reason = "stop"
        elif event.get("final"):
            self.reason = "stop" if self._left > 0 else "length"
            shown += self._until.finish()
        self._said.append(shown)
        return shown

    def end(self) -> Event:
        continued = "".join(self._said) if self.reason == "length" else None
        return {"reason": self.reason, "continuation": continued}


def _event(data: str) -> Event:
    """Parse an event. An empty one is a keep-alive."""
    event = parse_json(data) if data.strip() else {}
    if not isinstance(event, dict):
        raise TypeError("an event is not an object")
    return event
