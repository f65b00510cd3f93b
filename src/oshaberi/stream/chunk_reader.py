"""Reads a stream's chunks, feeds the engine and queues its messages.

Runs as one task beside delivery. It reports how reading ended; it never sends anything itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from oshaberi.chunks import Chunk, ProviderError, ToolCall, Usage
from oshaberi.delivery.bookkeeping.character_ledger import Ledger
from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.events import Details, Event, Message, SpeakerStop, Table, Thought, Withheld
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.reemission import Reemission
from oshaberi.stream.stream_context import StreamTextEngine
from oshaberi.stream.stream_state import StreamTrigger
from oshaberi.stream.thought_collector import ThoughtCollector
from oshaberi.stream.time_limits.inactivity_timer import InactivityTimer
from oshaberi.stream.time_limits.thinking_limit import ThinkingLimit
from oshaberi.stream.unfinished_end import is_trimmed, without_unfinished

log = logging.getLogger(__name__)

SLICE = 4096
"""The engine is fed at most so much at a time, so that a stop never waits for it (spec 04 O1)."""
CLOSE_SECONDS = 5.0
_LAST = ("function_call", "error")


@dataclass(frozen=True, slots=True)
class ReadingEnd:
    """How reading ended: the provider's end, a guard, a call or an error."""

    trigger: StreamTrigger
    calls: tuple[ToolCall, ...] = ()
    error: ProviderError | None = None


class ChunkReader:
    """Reads one stream and keeps what is known about the model's output."""

    def __init__(
        self,
        provider: Provider,
        config: StreamConfig,
        engine: StreamTextEngine,
        deliverer: Deliverer,
        ledger: Ledger,
        timer: InactivityTimer,
        on_chunk: Callable[[], None] | None = None,
    ) -> None:
        self.thoughts = ThoughtCollector()
        self.details: list[str] = []
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.continuation_prefill: str | None = None
        self.first_token_at: float | None = None
        """When the first words, thoughts or calls came."""
        self.chunks = 0
        self.characters = 0
        self.engine_open = True
        self._closed = False
        self._provider = provider
        self._engine = engine
        self._deliverer = deliverer
        self._ledger = ledger
        self._timer = timer
        self._thinking = ThinkingLimit(config.max_thinking_ms)
        self._on_chunk = on_chunk
        self._stream: AsyncIterator[Any] | None = None
        self._large = ""
        self._fed = 0
        self._has_thoughts = False
        self._is_blank = False
        self._is_ahead = False
        self._trimmed: list[Withheld] = []
        self._dedup = _dedup(config) if provider.reemits else None
        self._shows_unfinished = deliverer.shows_unfinished

    async def run(self, request: Any) -> ReadingEnd:
        self._timer.start()
        try:
            try:
                stream = self._stream = self._provider.open(request)
            except Exception as error:
                return self._failed(self._classified(error))
            # Runs once per token: make no task, timer or coroutine here, and touch few objects.
            # With a thousand streams, none of them is in the processor's cache.
            touch, normalise = self._timer.touch, self._provider.normalise
            while True:
                try:
                    raw = await anext(stream)
                    chunk = None if self._closed else normalise(raw)
                except (Exception, asyncio.CancelledError) as error:
                    return self._cut_off_by(error)
                if self._closed:
                    # The stop ended the stream, so this result is not used.
                    return ReadingEnd(StreamTrigger.END)
                touch()
                if chunk is None:
                    continue
                text = self._note(chunk)
                if len(text) > SLICE:
                    guarded = await self._feed_in_slices(text)
                else:
                    guarded = self._feed(text)
                kind = chunk.type
                if guarded or kind in _LAST:
                    return self._ended_by(chunk, guarded)
                if kind == "text" and self._thinks_too_long(text):
                    return ReadingEnd(
                        StreamTrigger.TIMEOUT, error=self._thinking.error(self._provider.name)
                    )
                if self._is_ahead:
                    await self._wait_for_room()
        finally:
            self._timer.stop()

    def stop(self) -> None:
        """Feed nothing more, even if the adapter ignores its cancellation."""
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

    async def flush(self, *, trim: bool = False) -> tuple[list[Message | Table], bool]:
        """Return what the engine holds after a stop, and whether that was only its buffer.

        `trim`: it ends at a clause. `drop_trimmed` then reports the rest.
        """
        if not self.engine_open:
            return [], True
        self.engine_open = False
        only_buffer = self._fed >= len(self._large)
        messages, guarded = await self._feed_rest()
        last = (
            self._engine.finish()
            if guarded
            else self._engine.flush("stop", trim_incomplete_clause=trim)
        )
        self._trimmed = [event for event in last if is_trimmed(event)]
        found, _stop = self._sort(event for event in last if not is_trimmed(event))
        return messages + found, only_buffer

    def drop_trimmed(self, reason: str) -> None:
        """Report the half clause that a stop cut off as not delivered."""
        for withheld in self._trimmed:
            fate = self._deliverer.fate_of(withheld.text, reason)
            self._ledger.drop(replace(withheld, reason=fate))
        self._trimmed = []

    async def flush_whole(self) -> list[Message | Table]:
        """Return what the engine holds at process end, up to the last clean boundary."""
        if not self.engine_open:
            return []
        self.engine_open = False
        messages, guarded = await self._feed_rest()
        last = self._engine.finish() if guarded else self._whole()
        found, _stop = self._sort(last)
        return messages + found

    def _whole(self) -> list[Event]:
        return without_unfinished(self._engine.flush("stop", trim_incomplete_clause=True))

    def finish(self) -> bool:
        """End the text. Return whether the speaker guard ended it first."""
        return self._end_with(self._engine.finish)

    async def discard(self) -> None:
        """Drop what the engine holds, because the user wrote again. Thoughts stay."""
        if not self.engine_open:
            return
        self.engine_open = False
        messages, _stop = await self._feed_rest()
        dropped: list[Withheld] = []
        kept: list[Event] = []
        for event in self._engine.discard():
            if isinstance(event, Withheld) and event.reason == "follow_up":
                dropped.append(event)
            else:
                kept.append(event)
        found, _stop = self._sort(kept)
        self._deliverer.drop("follow_up", messages + found)
        for withheld in dropped:
            fate = self._deliverer.fate_of(withheld.text, withheld.reason)
            self._ledger.drop(replace(withheld, reason=fate))

    async def _feed_rest(self) -> tuple[list[Message | Table], bool]:
        """Feed the rest of a large chunk after a stop closed the reader.

        It is fed in slices, since the provider is being closed and other streams run.
        """
        messages: list[Message | Table] = []
        guarded = False
        while rest := self._next_slice():
            found, stop = self._sort(self._engine.feed(rest))
            messages += found
            guarded = guarded or stop
            await asyncio.sleep(0)
        return messages, guarded

    def _cut_off_by(self, error: BaseException) -> ReadingEnd:
        """Return how reading ended when the provider gave no further chunk."""
        if isinstance(error, StopAsyncIteration):
            # The engine's guard, or the adapter's, which holds back the last characters (02).
            guarded = self.finish() or self.finish_reason == "speaker_guard"
            return ReadingEnd(StreamTrigger.GUARD if guarded else StreamTrigger.END)
        if isinstance(error, Exception):
            return self._failed(self._classified(error))
        if _is_cancelled():
            raise error
        # Not ours: something inside the adapter gave up.
        return self._failed(ProviderError("network", provider=self._provider.name))

    def _note(self, chunk: Chunk) -> str:
        """Note everything in a chunk but its text. Return the part of the text that is new."""
        _, text, _, _, thoughts, finish_reason, usage, prefill, links = chunk
        self.chunks += 1
        if self.first_token_at is None and (text or thoughts or chunk.calls):
            self.first_token_at = asyncio.get_running_loop().time()
        if self._on_chunk is not None:
            self._on_chunk()
        if thoughts:
            self._has_thoughts = True
            for part in thoughts:
                self.thoughts.piece(part)
        if self._dedup is not None:
            text = self._dedup.fresh(text)
        if finish_reason or usage or prefill:
            self.finish_reason = finish_reason or self.finish_reason
            self.usage = usage or self.usage
            self.continuation_prefill = prefill or self.continuation_prefill
            text += links
        return text

    def _thinks_too_long(self, text: str) -> bool:
        """Tell whether a chunk's text shows that the model only thinks, for too long."""
        captured = self._engine.captures
        was_blank, self._is_blank = self._is_blank, captured or not text[-1:].isalnum()
        return (self._is_blank or was_blank) and self._thinking.passed(text, captured)

    def _ended_by(self, chunk: Chunk, guarded: bool) -> ReadingEnd:
        if self._closed:
            # A stop came between slices: what has not been fed is the flush's business.
            return ReadingEnd(StreamTrigger.END)
        if guarded:
            self.finish()
            return ReadingEnd(StreamTrigger.GUARD)
        if chunk.type == "error":
            return self._failed(chunk.error or ProviderError("api_error"))
        if self._end_with(lambda: self._engine.flush("tool_call")):
            return ReadingEnd(StreamTrigger.GUARD)
        return ReadingEnd(StreamTrigger.CALL, calls=chunk.calls)

    def _feed(self, text: str) -> bool:
        """Feed text to the engine. Return whether the speaker guard ended it."""
        if not text:
            return False
        if self._has_thoughts:
            self._has_thoughts = False
            self.thoughts.interrupt()
        self.characters += len(text)
        events = self._engine.feed(text)
        if self._shows_unfinished:
            self._deliverer.text_came()
        return bool(events) and self._queue(events)

    async def _feed_in_slices(self, text: str) -> bool:
        self._large, self._fed = text, 0
        while self._fed < len(text) and not self._closed:
            if self._feed(self._next_slice()):
                return True
            await asyncio.sleep(0)
            self._timer.touch()
            if self._is_ahead:
                await self._wait_for_room()
        return False

    def _next_slice(self) -> str:
        """Return the next slice of a large chunk; empty when all was fed."""
        start = self._fed
        self._fed += SLICE
        return self._large[start : self._fed]

    async def _wait_for_room(self) -> None:
        """Wait until the queue has room. This does not count as the model's silence."""
        self._is_ahead = False
        self._timer.stop()
        await self._deliverer.queue.room()
        self._thinking.restart()
        self._timer.start()

    def _failed(self, error: ProviderError) -> ReadingEnd:
        self.finish()
        return ReadingEnd(StreamTrigger.ERROR, error=error)

    def _end_with(self, last: Callable[[], Iterable[Event]]) -> bool:
        self.engine_open = False
        return self._queue(last())

    def _queue(self, events: Iterable[Event]) -> bool:
        messages, stop = self._sort(events)
        if messages:
            self._deliverer.add(messages)
            self._is_ahead = self._deliverer.queue.full
        return stop

    def _sort(self, events: Iterable[Event]) -> tuple[list[Message | Table], bool]:
        """Store each event. Return those to be sent, and whether to stop."""
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
            name = self._provider.name
            return ProviderError("api_error", str(error), provider=name, raw=error, shown="")


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _dedup(config: StreamConfig) -> Reemission:
    return Reemission(config.stream_chunk_dedup_min_chars, config.stream_chunk_dedup_tail_chars)
