"""Reads the stream that a caller hands over: text, our chunks, or the stream object of an SDK.

`FAMILIES` is the table: how to recognise an item of a stream by its shape, and what reads it. No
SDK is imported. Reasoning becomes thoughts, and tool calls come last, all together.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from oshaberi.chunks import Chunk, ProviderError, ThoughtPart, text_chunk
from oshaberi.errors import OshaberiError
from oshaberi.providers.anthropic import events as anthropic_events
from oshaberi.providers.google import events as google_events
from oshaberi.providers.openai_chat import events as chat_events
from oshaberi.providers.openai_responses import events as responses_events
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.chunk_assembler import ChunkAssembler
from oshaberi.providers.wire.errors import StreamError
from oshaberi.providers.wire.steps import CallPiece, FinishStep, Step

NAME = "stream"
"""The provider's name in results: only the caller knows whose model it is."""


class ModelStreamError(OshaberiError):
    """The model's stream says that it failed, or ends before the answer does.

    `error` is what it said, in terms that are the same for all providers.
    """

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.message or error.type)
        self.error = error


class ItemReader(Protocol):
    """Reads the items of one stream."""

    def feed(self, item: Any) -> Iterable[Chunk]:
        """Return the chunks that an item completes."""

    def finish(self) -> Iterable[Chunk]:
        """Return what remains at the end of the stream: calls and token counts."""


class PlainReader:
    """Reads text and our own chunks."""

    def feed(self, item: Any) -> Iterable[Chunk]:
        if isinstance(item, Chunk):
            return (item,)
        if isinstance(item, str):
            return (text_chunk(item),)
        raise unreadable(item)

    def finish(self) -> Iterable[Chunk]:
        return ()


class WireReader:
    """Reads events of an API. `read` says what one of them means."""

    def __init__(self, read: Callable[[Any], Sequence[Step]]) -> None:
        self._read = read
        self._assembler = ChunkAssembler(NAME, Request(()))

    def feed(self, item: Any) -> Iterable[Chunk]:
        chunks = self._assembler.take(self._read(item))
        self._assembler.check_budget()
        return chunks

    def finish(self) -> Iterable[Chunk]:
        return self._assembler.finish()


def _chat_reader() -> ItemReader:
    def read(item: Any) -> Sequence[Step]:
        if _kind(item) is not None:
            # `chat.completions.stream()` sends everything twice: as a chunk, and as another event.
            item = _field(item, "chunk")
        return () if item is None else chat_events.read(_plain(item))

    return WireReader(read)


def _responses_reader() -> ItemReader:
    repetitions = responses_events.Repetitions()
    return WireReader(
        lambda item: responses_events.read(repetitions.read_event(json.dumps(_plain(item))))
    )


def _anthropic_reader() -> ItemReader:
    return WireReader(
        lambda item: anthropic_events.read(_plain(item)) if _is_anthropic(item) else ()
    )


def _google_reader() -> ItemReader:
    calls = google_events.PartialCalls()
    last = google_events.GeminiEvent({})

    def read(item: Any) -> Sequence[Step]:
        nonlocal last
        last = google_events.follow(last, calls.whole(_plain(item)))
        return google_events.read(last)

    return WireReader(read)


class AgentReader:
    """Reads the events of a pydantic-ai agent.

    The agent runs its tools itself. A call that it does not run (by the end of the stream nothing
    has said that it does) is left to the caller.
    """

    def __init__(self) -> None:
        self._wire = WireReader(self._steps)
        self._calls: dict[str, CallPiece] = {}

    def feed(self, item: Any) -> Iterable[Chunk]:
        return self._wire.feed(item)

    def finish(self) -> Iterable[Chunk]:
        chunks = [*self._wire.feed(_AgentEnd(tuple(self._calls.values())))]
        return [*chunks, *self._wire.finish()]

    def _steps(self, event: Any) -> Sequence[Step]:
        match event:
            case _AgentEnd(calls):
                return (*calls, FinishStep("stop", "tool_calls"))
        match event.event_kind:
            case "part_start":
                return _said(event.part.part_kind, getattr(event.part, "content", None))
            case "part_delta":
                delta = event.delta
                return _said(delta.part_delta_kind, getattr(delta, "content_delta", None))
            case "part_end" if event.part.part_kind == "tool-call":
                self._call(event.part)
            case "function_tool_call" | "output_tool_call":
                self._calls.pop(event.part.tool_call_id, None)
            case "final_result":
                self._calls.pop(event.tool_call_id or "", None)
        return ()

    def _call(self, part: Any) -> None:
        key = part.tool_call_id
        self._calls[key] = CallPiece(key, part.tool_name, part.args_as_json_str(), key)


@dataclass(frozen=True, slots=True)
class _AgentEnd:
    calls: tuple[CallPiece, ...]


def _said(kind: str, text: Any) -> Sequence[Step]:
    if not isinstance(text, str) or not text:
        return ()
    match kind:
        case "text":
            return (text_chunk(text),)
        case "thinking":
            return (_thought(text),)
    return ()


def _thought(text: str) -> Chunk:
    return Chunk("text", thoughts=(ThoughtPart(text),))


@dataclass(frozen=True, slots=True)
class StreamFamily:
    """One row of the table."""

    name: str
    recognises: Callable[[Any], bool]
    reader: Callable[[], ItemReader]


_ANTHROPIC = frozenset(
    {
        *("message_start", "message_delta", "message_stop", "ping", "error"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    }
)
_CHAT_EVENTS = ("chunk", "content.", "refusal.", "logprobs.", "tool_calls.")


def _is_anthropic(item: Any) -> bool:
    return _kind(item) in _ANTHROPIC


FAMILIES = (
    StreamFamily("text", lambda item: isinstance(item, str | Chunk), PlainReader),
    StreamFamily(
        "OpenAI chat completions",
        lambda item: (
            _field(item, "choices") is not None or (_kind(item) or "").startswith(_CHAT_EVENTS)
        ),
        _chat_reader,
    ),
    StreamFamily(
        "OpenAI Responses",
        lambda item: (_kind(item) or "").startswith("response."),
        _responses_reader,
    ),
    StreamFamily("Anthropic", _is_anthropic, _anthropic_reader),
    StreamFamily(
        "Google",
        lambda item: any(
            _field(item, name) is not None
            for name in ("candidates", "usage_metadata", "usageMetadata", "prompt_feedback")
        ),
        _google_reader,
    ),
    StreamFamily(
        "pydantic-ai", lambda item: isinstance(_field(item, "event_kind"), str), AgentReader
    ),
)


def reader_for(item: Any) -> ItemReader:
    """Return the reader of a stream that begins with this item. Raises TypeError."""
    for family in FAMILIES:
        if family.recognises(item):
            return family.reader()
    raise unreadable(item)


def unreadable(item: Any) -> TypeError:
    known = ", ".join(family.name for family in FAMILIES[1:])
    return TypeError(
        f"deliver: cannot read {type(item).__name__!r} in the stream; yield str or oshaberi.Chunk, "
        f"or pass a stream of {known} as it is"
    )


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _kind(item: Any) -> str | None:
    kind = _field(item, "type")
    return kind if isinstance(kind, str) else None


def _plain(item: Any) -> Mapping[str, Any]:
    """Return an SDK's object as the JSON object that it was read from."""
    if isinstance(item, Mapping):
        return item
    made: Mapping[str, Any] = item.model_dump(
        mode="json", by_alias=True, exclude_none=True, warnings=False
    )
    return made


async def items_of(stream: Any) -> AsyncGenerator[Any, None]:
    """Yield the items of a stream, and close it at the end. Raises TypeError for anything else."""
    if inspect.isawaitable(stream):
        stream = await stream
    async with aclosing(_iterated(stream)) as items:
        async for item in items:
            yield item


def _iterated(stream: Any) -> AsyncGenerator[Any, None]:
    if isinstance(stream, str):
        return _listed((stream,))
    if isinstance(stream, list | tuple):
        return _listed(stream)
    if hasattr(stream, "__aiter__"):
        return _async_items(stream)
    if hasattr(stream, "__iter__") and not isinstance(stream, bytes | Mapping):
        return _thread_items(stream)
    if hasattr(stream, "stream_text"):
        return _result_items(stream)
    if hasattr(stream, "__aenter__"):
        return _opened(stream)
    if hasattr(stream, "__enter__"):
        return _thread_items(_entered(stream))
    raise TypeError(
        f"deliver: {type(stream).__name__!r} is not a stream; pass an iterator of text, or the "
        "stream object of a model's SDK"
    )


async def _listed(items: Iterable[Any]) -> AsyncGenerator[Any, None]:
    for item in items:
        yield item


async def _opened(manager: Any) -> AsyncGenerator[Any, None]:
    async with manager as opened, aclosing(items_of(opened)) as items:
        async for item in items:
            yield item


async def _async_items(stream: Any) -> AsyncGenerator[Any, None]:
    try:
        async for item in stream:
            yield item
    finally:
        await _close(stream)


async def _close(stream: Any) -> None:
    """Release the connection of a stream that has ended, or is not read to its end."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if close is None:
        return
    closing = close()
    if inspect.isawaitable(closing):
        await closing


def _entered(manager: Any) -> Iterator[Any]:
    with manager as opened:
        yield from opened


_END = object()


async def _thread_items(stream: Iterable[Any]) -> AsyncGenerator[Any, None]:
    """Yield the items of a synchronous stream. It may block, so it runs in a thread of its own."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix="oshaberi-stream")
    try:
        items = await loop.run_in_executor(thread, iter, stream)
        while (item := await loop.run_in_executor(thread, next, items, _END)) is not _END:
            yield item
    finally:
        close = getattr(stream, "close", None)
        if close is not None:
            thread.submit(_quietly, close)
        thread.shutdown(wait=False)


def _quietly(close: Callable[[], object]) -> None:
    with suppress(Exception):
        close()


async def _result_items(result: Any) -> AsyncGenerator[Any, None]:
    """Yield the text of pydantic-ai's `run_stream`, then what the model thought."""
    async with aclosing(result.stream_text(delta=True, debounce_by=None)) as pieces:
        async for piece in pieces:
            yield piece
    for part in result.response.parts:
        if part.part_kind == "thinking" and part.content:
            yield _thought(part.content)


class CallersStream:
    """The caller's stream as a provider. `failure` is the exception that ended it, if one did."""

    name = NAME
    model = ""
    reemits = False

    def __init__(self, stream: Any) -> None:
        self.failure: Exception | None = None
        self._stream = stream

    async def open(self, _request: Any) -> AsyncGenerator[Chunk, None]:
        try:
            async with aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    if chunk.type == "error":
                        raise ModelStreamError(chunk.error or ProviderError("api_error"))
                    yield chunk
        except StreamError as error:
            self.failure = ModelStreamError(_failed(error))
            raise self.failure from error
        except Exception as error:
            self.failure = error
            raise

    async def _chunks(self) -> AsyncGenerator[Chunk, None]:
        reader: ItemReader | None = None
        async with aclosing(items_of(self._stream)) as items:
            async for item in items:
                if reader is None:
                    reader = reader_for(item)
                for chunk in reader.feed(item):
                    yield chunk
        if reader is not None:
            for chunk in reader.finish():
                yield chunk

    def normalise(self, raw: Any) -> Chunk | None:
        return raw if isinstance(raw, Chunk) else None

    def classify(self, error: Exception) -> ProviderError:
        if isinstance(error, ModelStreamError):
            return error.error
        return ProviderError("api_error", provider=self.name, raw=error, shown="")


def _failed(error: StreamError) -> ProviderError:
    kind = error.failure.kind or "api_error"
    return ProviderError(kind, error.failure.message, provider=NAME, raw=error.failure.body)
