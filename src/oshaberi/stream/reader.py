"""Reads a stream's chunks until the model ends, fails, asks for a tool, is stopped or is too late.

Runs as one task beside delivery: what the text engine completes goes into the deliverer's queue.
Reports how reading ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from oshaberi.chunks import Chunk, ProviderError, ToolCall
from oshaberi.clocks import Clock, has_come
from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.ledger import Deliverable
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.errors import Sentence
from oshaberi.stream.model_output import ModelOutput
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.result import ReadingEnd, StreamTrigger

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0
MOST_CALLS = 64
"""How many tool calls of one stream are kept: answered, counted, and shown to the model again. The
toolbox runs some of them. A model that makes more calls has lost its way."""

_STOPPED = ReadingEnd(StreamTrigger.END)
"""Nobody uses it: the stop ended the stream, and its closing feeds what has not been fed."""


class InactivityTimer:
    """Calls `on_expiry` after so long without a touch or a chunk, and when `most_ms` are over.

    `overdue` confirms it, `error` says if it was the latter. It runs only while a chunk is awaited
    (spec 04 O4). A chunk costs it nothing: the loop's timer is set again only when it fires too
    early.
    """

    def __init__(
        self,
        timeout_ms: int,
        most_ms: int,
        last_chunk_at: Callable[[], float],
        on_expiry: Callable[[], None],
        now: Clock,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = now
        self._seconds = timeout_ms / 1000
        self._most_s = most_ms / 1000
        self._left_s = self._most_s
        """How long it may still run. Every pause subtracts the elapsed time."""
        self._running_since = self._now()
        self._last_chunk_at = last_chunk_at
        self._on_expiry = on_expiry
        self._touched_at = self._piece_at = self._now()
        self._running = False
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if not self._running:
            self._running_since = self._now()
        self._running = True
        self.touch()
        if self._handle is None:
            self._arm()

    def touch(self) -> None:
        """Note a sign of life of the model."""
        self._touched_at = self._piece_at = self._now()

    def extend(self) -> None:
        """Start the time again, although the model has sent nothing."""
        self._touched_at = self._now()

    def silent_s(self) -> float:
        """Return for how long the model has sent nothing; 0 while nothing is awaited from it."""
        if not self._running:
            return 0.0
        return max(0.0, self._now() - max(self._piece_at, self._last_chunk_at()))

    def stop(self) -> None:
        if self._running:
            self._left_s -= self._now() - self._running_since
        self._running = False
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    @property
    def overdue(self) -> bool:
        """Whether the time is over. If not, the timer is set again."""
        if not self._running:
            return False
        if has_come(self._deadline, self._now()):
            return True
        if self._handle is None:
            self._arm()
        return False

    def error(self, provider: str) -> ProviderError | None:
        """Return the error if the whole answer took too long; None if it was a silence."""
        if not has_come(self._end, self._now()):
            return None
        words = Sentence("The answer was not complete after {seconds:g} s.", seconds=self._most_s)
        return ProviderError("timeout", words, "time_budget", provider=provider)

    @property
    def _deadline(self) -> float:
        silent = max(self._touched_at, self._last_chunk_at()) + self._seconds
        return min(silent, self._end)

    @property
    def _end(self) -> float:
        return self._running_since + self._left_s

    def _arm(self) -> None:
        self._handle = self._loop.call_at(self._deadline, self._fire)

    def _fire(self) -> None:
        self._handle = None
        if self.overdue:
            self._on_expiry()


class ChunkReader:
    """Reads one stream into its `ModelOutput`."""

    def __init__(
        self,
        provider: Provider,
        output: ModelOutput,
        deliverer: Deliverer,
        waits: InterruptibleWaits,
        timer: InactivityTimer,
        max_thinking_ms: int,
    ) -> None:
        self._provider = provider
        self._output = output
        self._deliverer = deliverer
        self._waits = waits
        self._timer = timer
        self._max_thinking_ms = max_thinking_ms
        self._stream: AsyncIterator[Any] | None = None

    async def run(self, request: Any) -> ReadingEnd:
        self._timer.start()
        try:
            try:
                self._stream = self._provider.open(request)
                following = self._stream.__anext__
            except Exception as error:
                return self._end_failed(self._classify(error))
            # Runs once per token, see `model_output`.
            normalise, now = self._provider.normalise, self._waits.now
            output, take = self._output, self._output.take
            while True:
                try:
                    chunk = normalise(await following())
                except (Exception, asyncio.CancelledError) as error:
                    return self._end_by(error)
                if chunk is None:
                    self._timer.touch()
                    end = _STOPPED if output.stopped else None
                elif take(chunk, now()):
                    continue
                else:
                    end = await self._look_at(chunk)
                if end is not None:
                    return end
        finally:
            self._timer.stop()

    def stop(self) -> None:
        """Feed nothing more, even if the adapter ignores its cancellation."""
        self._output.stopped = True

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

    async def _look_at(self, chunk: Chunk) -> ReadingEnd | None:
        """Do what the output asks for after a chunk. Return how reading ended, if it did."""
        output = self._output
        is_ahead = self._deliver(output.take_ready())
        if output.has_slices:
            await self._feed_slices(is_text=chunk.type == "text")
        if output.stopped:
            return _STOPPED
        if output.guarded:
            self._deliver(output.finish())
            return ReadingEnd(StreamTrigger.GUARD)
        if chunk.type == "error":
            return self._end_failed(chunk.error or ProviderError("api_error"))
        if chunk.type == "function_call":
            return self._end_with_calls(chunk.calls)
        if output.thinks_too_long:
            return self._hurry(ReadingEnd(StreamTrigger.TIMEOUT, error=self._thinks_too_long()))
        if is_ahead:
            await self._wait_for_room()
        return None

    def _deliver(self, events: list[Deliverable]) -> bool:
        """Queue what the engine has completed. Return whether to wait for room now."""
        if not events:
            return False
        self._deliverer.add(events)
        return self._deliverer.queue.full

    def _thinks_too_long(self) -> ProviderError:
        seconds = self._max_thinking_ms / 1000
        words = Sentence("It thought for {seconds:g} s and said nothing.", seconds=seconds)
        return ProviderError("timeout", words, provider=self._provider.name)

    def _end_with_calls(self, calls: tuple[ToolCall, ...]) -> ReadingEnd:
        self._deliver(self._output.flush_for_call())
        if self._output.guarded:
            return ReadingEnd(StreamTrigger.GUARD)
        return self._hurry(ReadingEnd(StreamTrigger.CALL, calls=calls[:MOST_CALLS]))

    def _hurry(self, end: ReadingEnd) -> ReadingEnd:
        """End simulated waits at once (spec 04 O4a), before the next one begins."""
        self._waits.hurry()
        return end

    async def _feed_slices(self, *, is_text: bool) -> None:
        """Feed a large chunk, with a breath for others after each slice."""
        output = self._output
        while not output.stopped and (text := output.next_slice()):
            output.feed(text)
            is_ahead = self._deliver(output.take_ready())
            if output.guarded:
                return
            await asyncio.sleep(0)
            self._timer.touch()
            if is_ahead:
                await self._wait_for_room()
        if is_text and not output.stopped:
            output.after_slices(self._waits.now())

    async def _wait_for_room(self) -> None:
        """Wait until the queue has room. This does not count as the model's silence."""
        self._timer.stop()
        await self._deliverer.queue.room()
        self._output.restart_thinking()
        self._timer.start()

    def _end_by(self, error: BaseException) -> ReadingEnd:
        """Return how reading ended when the provider gave no further chunk."""
        if isinstance(error, StopAsyncIteration):
            self._deliver(self._output.finish())
            # The engine's guard, or the adapter's, which holds back the last characters (02).
            guarded = self._output.guarded or self._output.finish_reason == "speaker_guard"
            return ReadingEnd(StreamTrigger.GUARD if guarded else StreamTrigger.END)
        if isinstance(error, Exception):
            return self._end_failed(self._classify(error))
        if _is_cancelled():
            raise error
        # Not ours: something inside the adapter gave up.
        return self._end_failed(ProviderError("network", provider=self._provider.name))

    def _end_failed(self, error: ProviderError) -> ReadingEnd:
        self._deliver(self._output.finish())
        return self._hurry(ReadingEnd(StreamTrigger.ERROR, error=error))

    def _classify(self, error: Exception) -> ProviderError:
        try:
            return self._provider.classify(error)
        except Exception:
            log.exception("%s could not classify an error", self._provider.name)
            name = self._provider.name
            return ProviderError("api_error", str(error), provider=name, raw=error, shown="")


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
