"""The reading side of a stream: chunks in, engine fed, messages queued.

Runs as one task beside delivery. It reports how reading ended; it never sends anything itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import Chunk, ProviderError, ToolCall, Usage
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.ledger import Ledger
from oshaberi.events import Details, Event, Message, SpeakerStop, Table, Thought, Withheld
from oshaberi.stream.context import Engine
from oshaberi.stream.inactivity import InactivityTimer
from oshaberi.stream.provider import Provider
from oshaberi.stream.reemission import Reemission
from oshaberi.stream.state import Trigger
from oshaberi.stream.thoughts import ThoughtCollector

log = logging.getLogger(__name__)

SLICE = 4096
"""The engine is fed at most so much at a time, so that a stop never waits for it (spec 04 O1)."""
CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How reading ended: the provider's end, a guard, a call or an error."""

    trigger: Trigger
    calls: tuple[ToolCall, ...] = ()
    error: ProviderError | None = None


class Reader:
    """Everything that is known about what the model said."""

    def __init__(
        self,
        provider: Provider,
        config: StreamConfig,
        engine: Engine,
        deliverer: Deliverer,
        ledger: Ledger,
        timer: InactivityTimer,
        on_chunk: Callable[[], None],
    ) -> None:
        self.thoughts = ThoughtCollector()
        self.details: list[str] = []
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.continuation_prefill: str | None = None
        self.chunks = 0
        self.characters = 0
        self.engine_open = True
        self._closed = False
        self._provider = provider
        self._engine = engine
        self._deliverer = deliverer
        self._ledger = ledger
        self._timer = timer
        self._on_chunk = on_chunk
        self._stream: AsyncIterator[Any] | None = None
        self._large = ""
        self._fed = 0
        self._dedup = _dedup(config) if provider.reemits else None

    @property
    def _unfed(self) -> str:
        """What came with a large chunk and has not been given to the engine yet."""
        return self._large[self._fed :]

    async def run(self, request: Any) -> Ending:
        self._timer.start()
        try:
            return await self._read(request)
        finally:
            self._timer.stop()

    def stop(self) -> None:
        """Feed nothing more, even to an adapter that does not let itself be cancelled."""
        self._closed = True

    async def close(self) -> None:
        """Release the provider's connection (spec 04 O10)."""
        closing = getattr(self._stream, "aclose", None)
        if closing is None:
            return
        task = asyncio.ensure_future(closing())
        try:
            await asyncio.wait({task}, timeout=CLOSE_SECONDS)
        finally:
            if not task.done():
                task.cancel()
        if not task.done():
            log.error("%s did not close within %.0f s", self._provider.name, CLOSE_SECONDS)
        elif task.exception() is not None:
            log.warning("%s failed while closing: %s", self._provider.name, task.exception())

    def flush(self) -> tuple[list[Message | Table], bool]:
        """After a stop: what the engine still holds, and whether that was only its buffer."""
        if not self.engine_open:
            return [], True
        rest = self._unfed
        events = [*(self._engine.feed(rest) if rest else ())]
        guarded = any(isinstance(event, SpeakerStop) for event in events)
        events += self._engine.finish() if guarded else self._engine.flush("stop")
        self.engine_open = False
        messages, _stop = self._sort(events)
        return messages, not rest

    def finish(self) -> bool:
        """The end of the text, however it came. Whether the speaker guard found it first."""
        return self._end_with(self._engine.finish)

    def discard(self) -> None:
        """The user wrote again: what the engine holds is dropped, thoughts stay."""
        if not self.engine_open:
            return
        self.engine_open = False
        kept: list[Event] = []
        for event in self._engine.discard():
            if isinstance(event, Withheld) and event.reason == "follow_up":
                self._ledger.drop(event)
            else:
                kept.append(event)
        messages, _stop = self._sort(kept)
        for message in messages:
            self._ledger.settle(self._ledger.expect(message), "follow_up")
        if self._unfed:
            self._ledger.drop(Withheld(self._unfed, "follow_up"))

    async def _read(self, request: Any) -> Ending:
        try:
            self._stream = self._provider.open(request)
        except Exception as error:
            return self._failed(self._classified(error))
        while True:
            try:
                raw = await anext(self._stream)
                chunk = None if self._closed else self._provider.normalise(raw)
            except StopAsyncIteration:
                return Ending(Trigger.GUARD if self.finish() else Trigger.END)
            except asyncio.CancelledError:
                if _is_cancelled():
                    raise
                # Not ours: something inside the adapter gave up.
                return self._failed(ProviderError("network", provider=self._provider.name))
            except Exception as error:
                return self._failed(self._classified(error))
            if self._closed:
                # The stop that closed it is what ended the stream; nobody asks for this.
                return Ending(Trigger.END)
            self._timer.touch()
            ending = None if chunk is None else await self._route(chunk)
            if ending is not None:
                return ending
            if self._deliverer.queue.full:
                await self._wait_for_room()

    async def _route(self, chunk: Chunk) -> Ending | None:
        self.chunks += 1
        self._on_chunk()
        self._note(chunk)
        if chunk.content and await self._feed(chunk.content):
            self.finish()
            return Ending(Trigger.GUARD)
        if chunk.type == "function_call":
            if self._end_with(lambda: self._engine.flush("tool_call")):
                return Ending(Trigger.GUARD)
            return Ending(Trigger.CALL, calls=chunk.calls)
        if chunk.type == "error":
            return self._failed(chunk.error or ProviderError("api_error"))
        return None

    def _note(self, chunk: Chunk) -> None:
        for part in chunk.thoughts:
            self.thoughts.piece(part)
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self.usage = chunk.usage or self.usage
        self.continuation_prefill = chunk.continuation_prefill or self.continuation_prefill

    async def _feed(self, content: str) -> bool:
        """Whether the speaker guard ended the text."""
        text = content if self._dedup is None else self._dedup.fresh(content)
        if not text:
            return False
        self.thoughts.interrupt()
        self.characters += len(text)
        if len(text) <= SLICE:
            return self._queue(self._engine.feed(text))
        self._large = text
        return await self._feed_in_slices(text)

    async def _feed_in_slices(self, text: str) -> bool:
        for start in range(0, len(text), SLICE):
            self._fed = start + SLICE
            if self._queue(self._engine.feed(text[start : start + SLICE])):
                return True
            await asyncio.sleep(0)
            if self._deliverer.queue.full:
                await self._wait_for_room()
            if self._closed:
                return False
        return False

    async def _wait_for_room(self) -> None:
        """The model is too far ahead: that is not its silence."""
        self._timer.stop()
        await self._deliverer.queue.room()
        self._timer.start()

    def _failed(self, error: ProviderError) -> Ending:
        self.finish()
        return Ending(Trigger.ERROR, error=error)

    def _end_with(self, last: Callable[[], Iterable[Event]]) -> bool:
        self.engine_open = False
        return self._queue(last())

    def _queue(self, events: Iterable[Event]) -> bool:
        messages, stop = self._sort(events)
        if messages:
            self._deliverer.add(messages)
        return stop

    def _sort(self, events: Iterable[Event]) -> tuple[list[Message | Table], bool]:
        """To each event its place. What is to be sent is returned, and whether to stop."""
        messages: list[Message | Table] = []
        stop = False
        for event in events:
            match event:
                case Message() | Table():
                    messages.append(event)
                case Thought(text):
                    self.thoughts.block(text)
                case Details(text):
                    self.details.append(text)
                case Withheld():
                    self._ledger.withhold(event)
                case SpeakerStop():
                    stop = True
        return messages, stop

    def _classified(self, error: Exception) -> ProviderError:
        try:
            return self._provider.classify(error)
        except Exception:
            log.exception("%s could not classify an error", self._provider.name)
            return ProviderError("api_error", str(error), provider=self._provider.name, raw=error)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _dedup(config: StreamConfig) -> Reemission:
    return Reemission(config.stream_chunk_dedup_min_chars, config.stream_chunk_dedup_tail_chars)
