"""Adapter for Ollama's own API, `/api/chat`: it sets the window, which the compatible API cannot.

A stream is one JSON object per line. Calls arrive whole; a model that must be loaded first is
silent for a while. A missing model is downloaded if the endpoint's `pull` allows it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from oshaberi.checked_json import whole_count
from oshaberi.chunks import Chunk, ProviderError, ThoughtPart, text_chunk
from oshaberi.errors import Sentence
from oshaberi.providers.base import EndpointAdapter
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.error_classification import our_failure, provider_error
from oshaberi.providers.refusals.negotiation import RequestNegotiation
from oshaberi.providers.request.dialogue import (
    DialogueTurn,
    as_text,
    base64_of,
    has_images,
    system_text,
    turns,
)
from oshaberi.providers.request.model_request import Endpoint, ImagePart, Request, ToolRound
from oshaberi.providers.request.parameters import (
    effort,
    is_off,
    known_capabilities,
    output_tokens,
    sampling,
    stop_strings,
)
from oshaberi.providers.request.preparation import known_window, prepared
from oshaberi.providers.wire.errors import (
    StreamError,
    body_failure,
    explained,
    read_failure,
)
from oshaberi.providers.wire.json_post import JsonPost
from oshaberi.providers.wire.sse_decoder import read_object
from oshaberi.providers.wire.steps import CallPiece, FinishStep, Step, TokenCount, token_count

log = logging.getLogger(__name__)

FAMILY = "ollama"
MANDATORY = frozenset({"model", "messages", "stream", "options"})
DEFAULT_BASE_URL = "http://127.0.0.1:11434"
LONGEST_LINE = 4 * 1024 * 1024

_MOST_LAYERS = 1000
_LONGEST_DIGEST = 200
Fields = dict[str, Any]
Event = Mapping[str, Any]


class OllamaAdapter(EndpointAdapter):
    """One model behind `POST {base_url}/api/chat`."""

    endpoint: Endpoint

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._http = JsonPost(endpoint, DEFAULT_BASE_URL, "ollama")

    def capabilities(self) -> ModelCapabilities:
        return known_capabilities(self.endpoint, FAMILY)

    async def explain(self, problem: ProviderError) -> ProviderError:
        return await explained(problem, self.endpoint, FAMILY)

    def classify(self, error: Exception) -> ProviderError:
        known = self.endpoint.is_known_server
        return provider_error(read_failure(error), self.name, self._redact, is_known=known)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """Yield the events. Changes and repeats a refused request, never a begun stream."""
        negotiation = RequestNegotiation(self.endpoint, FAMILY, MANDATORY)
        may_pull = self.endpoint.pull
        while True:
            known = negotiation.capabilities
            ready = await prepared(request, self.endpoint, known)
            window = await known_window(self.endpoint, known) if self.endpoint.window else None
            wanted = negotiation.reduced(body(ready, self.endpoint, known, window))
            has_begun = False
            try:
                async with self._answer("/api/chat", wanted) as lines:
                    async for line in lines:
                        if not has_begun:
                            has_begun = True
                            negotiation.accepted()
                        yield read_object(line)
                return
            except Exception as error:
                if has_begun:
                    raise
                failure = read_failure(error)
                if may_pull and failure.status == 404:
                    may_pull = False
                    async for progress in self._pulled(request):
                        yield progress
                    continue
                images = has_images(ready.items)
                problem = self.classify(error)
                if failure.status is None or not negotiation.refused(
                    failure, problem, wanted, images
                ):
                    raise

    async def _pulled(self, request: Request) -> AsyncGenerator[Event, None]:
        """Pull the model.

        Each step is a sign of life; every tenth of the download is logged and reported.
        """
        progress = PullProgress()
        wanted = {"model": self.endpoint.model, "stream": True}
        async with self._answer("/api/pull", wanted) as lines:
            async for line in lines:
                event = read_object(line)
                if event.get("error"):
                    raise StreamError(body_failure(event))
                if progress.advances(event):
                    words = progress.words(self.endpoint.model)
                    log.info("%s", words)
                    if request.on_wait is not None:
                        request.on_wait(words)
                yield {"status": "pulling"}

    @asynccontextmanager
    async def _answer(self, path: str, wanted: Fields) -> AsyncGenerator[Any, None]:
        """Yield the lines of an answer. Leaving the block early closes the connection."""
        async with (
            self._http.answer(path, wanted, self.endpoint.api_key) as pieces,
            aclosing(_lines(pieces)) as lines,
        ):
            yield lines

    def read(self, event: Event) -> Sequence[Step]:
        return read(event)


class PullProgress:
    """How much of a model has arrived.

    Ollama counts each layer separately, and gives its size only when it begins.
    """

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}
        self._tenth = -1
        self._size = 0

    def advances(self, event: Event) -> bool:
        """Note a step. Return whether another tenth has arrived, or the total has grown a lot."""
        whole, done = (whole_count(event.get(key), 2**50) for key in ("total", "completed"))
        layer = str(event.get("digest"))[:_LONGEST_DIGEST]
        if not whole or (layer not in self._layers and len(self._layers) >= _MOST_LAYERS):
            return False
        self._layers[layer] = whole, min(done or 0, whole)
        size, come = map(sum, zip(*self._layers.values(), strict=True))
        tenth = 10 * come // size
        if size < 2 * self._size and tenth <= self._tenth:
            return False
        self._size, self._tenth = size, tenth
        return True

    def words(self, model: str) -> Sentence:
        return Sentence(
            "{model} is being downloaded first: {percent} % of {gigabytes:.1f} GB.",
            model=model,
            percent=10 * self._tenth,
            gigabytes=self._size / 1e9,
        )


# -- asking --------------------------------------------------------------------------------------


def body(
    request: Request,
    endpoint: Endpoint,
    capabilities: ModelCapabilities | None = None,
    window: int | None = None,
) -> Fields:
    """Return the JSON of the request. `window` is set if the settings have one (`num_ctx`)."""
    known = capabilities or known_capabilities(endpoint, FAMILY)
    own = {name: value for name, value in request.extra.items() if name != "pull"}
    options = {
        "num_ctx": window,
        "num_predict": output_tokens(request, known),
        "stop": list(stop_strings(request)) or None,
        **sampling(request, known),
        **own.pop("options", {}),
    }
    made: Fields = {
        "model": endpoint.model,
        "messages": _messages(request),
        "stream": True,
        "options": {key: value for key, value in options.items() if value is not None},
    }
    if request.tools:
        made["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
    think = _think(request, endpoint, known)
    if think is not None:
        made["think"] = think
    return {**made, **endpoint.quirks.get("body", {}), **own}


def _think(request: Request, endpoint: Endpoint, known: ModelCapabilities) -> bool | str | None:
    """Return whether to think; gpt-oss takes a level, and cannot be told not to."""
    if request.thinking is None or known.thinking == "none":
        return None
    if endpoint.model.startswith("gpt-oss"):
        return "low" if is_off(request.thinking) else effort(request.thinking)
    return not is_off(request.thinking)


def _messages(request: Request) -> list[Fields]:
    made: list[Fields] = []
    system = system_text(request.items)
    if system:
        made.append({"role": "system", "content": system})
    for turn in turns(request.items, user_first=True):
        made += [_said(turn)] if isinstance(turn, DialogueTurn) else _round(turn)
    return made


def _said(turn: DialogueTurn) -> Fields:
    """Return a message. Its pictures are beside the text."""
    data = [part.data for part in turn.parts if isinstance(part, ImagePart) and part.data]
    texts = [part for part in turn.parts if not (isinstance(part, ImagePart) and part.data)]
    said = {"role": turn.role, "content": "\n".join(map(as_text, texts))}
    return {**said, "images": [base64_of(one) for one in data]} if data else said


def _round(turn: ToolRound) -> list[Fields]:
    calls = [
        {
            **({"id": call.id} if call.id else {}),
            "function": {"name": call.name, "arguments": dict(call.args)},
        }
        for call in turn.calls
    ]
    pairs = zip(turn.calls, turn.results, strict=False)
    return [
        {"role": "assistant", "content": turn.text, "tool_calls": calls},
        *(
            {
                "role": "tool",
                "tool_name": call.name,
                **({"tool_call_id": call.id} if call.id else {}),
                "content": result.content,
            }
            for call, result in pairs
        ),
    ]


# -- listening -----------------------------------------------------------------------------------


def read(event: Event) -> Sequence[Step]:
    """Read one line: text, thoughts and whole calls, then the end with the token count."""
    if event.get("error"):
        raise StreamError(body_failure(event))
    if "message" not in event and event.get("status"):
        # A step of a pull has no text, but is a sign of life.
        return (TokenCount(),)
    message = event.get("message") or {}
    steps: list[Step] = []
    if message.get("thinking"):
        steps.append(Chunk("text", thoughts=(ThoughtPart(message["thinking"]),)))
    if message.get("content"):
        steps.append(text_chunk(message["content"]))
    for number, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or {}
        arguments = json.dumps(function.get("arguments") or {})
        key = call.get("id") or f"{number} {function.get('name')} {arguments}"
        steps.append(CallPiece(key, function.get("name") or "", arguments, call.get("id"), True))
    if event.get("done"):
        steps.append(FinishStep(event.get("done_reason") or "stop", "tool_calls"))
        steps.append(token_count((event.get("prompt_eval_count"),), (event.get("eval_count"),)))
    return steps


async def _lines(pieces: Any) -> AsyncGenerator[str, None]:
    """Yield the lines of a body. A line that never ends is an error."""
    held: list[bytes] = []
    size = 0
    async for piece in pieces:
        *whole, rest = piece.split(b"\n")
        for line in whole:
            text = b"".join((*held, line)).strip()
            held.clear()
            size = 0
            if text:
                yield text.decode("utf-8", "replace")
        if rest:
            held.append(rest)
            size += len(rest)
        if size > LONGEST_LINE:
            raise StreamError(our_failure(Sentence("the answer is not a stream")))
    last = b"".join(held).strip()
    if last:
        yield last.decode("utf-8", "replace")
