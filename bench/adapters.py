"""What an adapter costs per token, beside `json.loads` of the event that brings it.

`bytes` is the adapter's own road, from the bytes of a response to a `Chunk`, one event at a time.
`socket` adds the SDK and its transport, down to a real socket; the server is another thread.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.engines import cut
from bench.shapes import SHAPES
from bench.timing import Job, best_in_turns
from bench.tokens import chunk_json
from discord_stage.model_servers import (
    AnthropicWire,
    ModelServer,
    OpenAIResponsesWire,
    OpenAIWire,
    WireFormat,
)
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.scripts import Say
from oshaberi.providers.anthropic.adapter import AnthropicAdapter
from oshaberi.providers.base import Adapter
from oshaberi.providers.connections.model_connections import StreamedBody
from oshaberi.providers.connections.sdk import BODY
from oshaberi.providers.google.adapter import GoogleAdapter
from oshaberi.providers.openai_chat.adapter import OpenAIChatAdapter
from oshaberi.providers.openai_responses.adapter import OpenAIResponsesAdapter
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Endpoint, Request, said

LIMIT = 2.0
"""Not held against Google, whose adapter also keeps the time: its SDK cannot, see `limited`."""
_MICRO = 1e6
_ASK = Request((said("user", "hi", "current"),))


@dataclass(frozen=True, slots=True)
class AdapterCost:
    """Microseconds per token."""

    family: str
    json_us: float
    bytes_us: float
    socket_us: float
    limited: bool = True

    @property
    def ratio(self) -> float:
        return self.bytes_us / self.json_us

    @property
    def flagged(self) -> bool:
        return self.limited and self.ratio > LIMIT


def run(size: int, rounds: int) -> list[AdapterCost]:
    """Every family over the same text, cut into the same tokens."""
    tokens = cut(SHAPES["prose"].of(size))
    return [measure(family, tokens, rounds) for family in _FAMILIES]


def measure(family: _Family, tokens: Sequence[str], rounds: int) -> AdapterCost:
    events = [family.event(token) for token in tokens]
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        jobs: list[Job] = [partial(_load, events)]
        adapters = [stack.enter_context(_over_a_socket(family, tokens, rounds))]
        frames = [f"{family.before}data: {event}\n\n" for event in (*events, *family.ending)]
        adapters.append(family.from_bytes([frame.encode() for frame in frames]))
        jobs += [partial(_play, runner, adapter, "".join(tokens)) for adapter in adapters]
        best = [seconds * _MICRO / len(tokens) for seconds in best_in_turns(jobs, rounds)]
        for adapter in adapters:
            runner.run(adapter.aclose())
    in_json, by_socket, from_bytes = best
    return AdapterCost(family.name, in_json, from_bytes, by_socket, family.name != "google")


def _load(events: list[str]) -> None:
    loads = json.loads
    for event in events:
        loads(event)


def _play(runner: asyncio.Runner, adapter: Adapter, expected: str) -> None:
    heard = runner.run(_heard(adapter))
    if heard != expected:
        raise AssertionError(f"{adapter.name} lost text: {len(heard)} of {len(expected)}")


async def _heard(adapter: Adapter) -> str:
    texts = []
    async for raw in adapter.open(_ASK):
        chunk = adapter.normalise(raw)
        if chunk is not None:
            texts.append(chunk.content)
    return "".join(texts)


class _Response:
    """Stands for the SDK's response: the same bytes, one event in each piece."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.headers: dict[str, str] = {}
        self._left = iter(pieces)

    async def __aenter__(self) -> _Response:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Nothing is open."""

    @property
    def http_response(self) -> _Response:
        """What an SDK wraps."""
        return self

    @property
    def extensions(self) -> dict[str, StreamedBody]:
        """Where our transport puts the body."""
        return {BODY: StreamedBody(self, 300.0)}

    @property
    def content(self) -> _Response:
        """Google's transport is another one."""
        return self

    async def readany(self) -> bytes:
        return next(self._left, b"")


class _OpenAIBytes(OpenAIChatAdapter):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(Endpoint("openai", "m", PRESETS["openai"].base_url))
        self._pieces = pieces

    async def _answer(self, _wanted: Any) -> Any:
        return nullcontext(StreamedBody(_Response(self._pieces), 300.0))


class _ResponsesBytes(OpenAIResponsesAdapter):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(Endpoint("openai", "m", PRESETS["openai"].base_url))
        self._pieces = pieces

    async def _answer(self, _wanted: Any) -> Any:
        return nullcontext(StreamedBody(_Response(self._pieces), 300.0))


class _AnthropicBytes(AnthropicAdapter):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(Endpoint("anthropic", "m", PRESETS["anthropic"].base_url))
        self._pieces = pieces

    def _creating(self, _wanted: Any) -> Any:
        return _Response(self._pieces)


class _GoogleBytes(GoogleAdapter):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(Endpoint("google", "m", PRESETS["google"].base_url))
        self._pieces = pieces

    def _answer(self, _asked: Any) -> Any:
        return _Response(self._pieces)


def _responses_event(token: str) -> str:
    event = {
        "type": "response.output_text.delta",
        "content_index": 0,
        "delta": token,
        "item_id": "msg_0f3c1d5be2a94c7700694f1b0c6a5081928f4e7d3ab1",
        "logprobs": [],
        "obfuscation": "kQ3vW0aZpXdL",
        "output_index": 0,
        "sequence_number": 12,
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


_RESPONSES_END = '{"type":"response.completed","response":{"status":"completed","output":[]}}'


def _anthropic_event(token: str) -> str:
    delta = {"type": "text_delta", "text": token}
    event = {"type": "content_block_delta", "index": 0, "delta": delta}
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _google_event(token: str) -> str:
    content = {"parts": [{"text": token}], "role": "model"}
    usage = {"promptTokenCount": 9, "totalTokenCount": 12, "candidatesTokenCount": 3}
    event = {
        "candidates": [{"content": content, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "x8Tq0LkVdhKcz7IP2bGs4QU",
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


_GOOGLE_END = '{"candidates": [{"finishReason": "STOP", "index": 0}]}'


@dataclass(frozen=True, slots=True)
class _Family:
    name: str
    wire: Callable[[], WireFormat]
    event: Callable[[str], str]
    before: str
    ending: tuple[str, ...]
    from_bytes: Callable[[Sequence[bytes]], Adapter]


_FAMILIES = (
    _Family("openai", OpenAIWire, chunk_json, "", ("[DONE]",), _OpenAIBytes),
    _Family(
        "openai-responses",
        OpenAIResponsesWire,
        _responses_event,
        "event: response.output_text.delta\n",
        (_RESPONSES_END,),
        _ResponsesBytes,
    ),
    _Family(
        "anthropic",
        AnthropicWire,
        _anthropic_event,
        "event: content_block_delta\n",
        ('{"type":"message_stop"}',),
        _AnthropicBytes,
    ),
    _Family("google", GoogleWire, _google_event, "", (_GOOGLE_END,), _GoogleBytes),
)


@contextmanager
def _over_a_socket(family: _Family, tokens: Sequence[str], rounds: int) -> Iterator[Adapter]:
    """An adapter of that family whose model answers so often, from another thread."""
    ready: list[str] = []
    started, over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with ModelServer(family.wire(), *[(Say(*tokens),)] * rounds) as server:
            ready.append(server.url)
            started.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        started.wait()
        yield connect(family.name, "m", api_key="not-a-key", base_url=ready[0])
    finally:
        over.set()
        thread.join()
