"""Reads a stream's chunks until the model ends, fails, asks for a tool or is stopped.

Runs as one task beside delivery. It reports how reading ended; it never sends anything itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import Chunk, ProviderError, ToolCall
from oshaberi.delivery.queue import MessageQueue
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.stream.model_output import ModelOutput
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.states import StreamTrigger
from oshaberi.stream.time_limits import InactivityTimer, ThinkingLimit

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0


MOST_CALLS = 64
"""How many tool calls of one stream are kept: answered, counted, and shown to the model again. Of
these the toolbox runs some. A model that calls more has lost its way."""


@dataclass(frozen=True, slots=True)
class ReadingEnd:
    """How reading ended: the provider's end, a guard, a call or an error."""

    trigger: StreamTrigger
    calls: tuple[ToolCall, ...] = ()
    error: ProviderError | None = None


_STOPPED = ReadingEnd(StreamTrigger.END)
"""Nobody uses it: the stop ended the stream, and its closing feeds what has not been fed."""


class ChunkReader:
    """Reads one stream into its `ModelOutput`."""

    def __init__(
        self,
        provider: Provider,
        output: ModelOutput,
        queue: MessageQueue,
        waits: InterruptibleWaits,
        timer: InactivityTimer,
        thinking: ThinkingLimit,
    ) -> None:
        self._provider = provider
        self._output = output
        self._queue = queue
        self._waits = waits
        self._timer = timer
        self._thinking = thinking
        self._stream: AsyncIterator[Any] | None = None

    async def run(self, request: Any) -> ReadingEnd:
        self._timer.start()
        try:
            try:
                stream = self._stream = self._provider.open(request)
            except Exception as error:
                return self._failed(self._classified(error))
            # Runs once per token, see `model_output`.
            provider, output, now = self._provider, self._output, self._waits.now
            while True:
                try:
                    chunk = provider.normalise(await anext(stream))
                except (Exception, asyncio.CancelledError) as error:
                    return self._cut_off_by(error)
                if chunk is None:
                    self._timer.touch()
                    end = _STOPPED if output.stopped else None
                elif output.take(chunk, now()):
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
        if output.has_slices:
            await self._feed_slices(is_text=chunk.type == "text")
        if output.stopped:
            return _STOPPED
        if output.guarded:
            output.finish()
            return ReadingEnd(StreamTrigger.GUARD)
        if chunk.type == "error":
            return self._failed(chunk.error or ProviderError("api_error"))
        if chunk.type == "function_call":
            return self._called(chunk.calls)
        if output.thinks_too_long:
            error = self._thinking.error(self._provider.name)
            return self._hurrying(ReadingEnd(StreamTrigger.TIMEOUT, error=error))
        if output.is_ahead:
            await self._wait_for_room()
        return None

    def _called(self, calls: tuple[ToolCall, ...]) -> ReadingEnd:
        self._output.flush_for_call()
        if self._output.guarded:
            return ReadingEnd(StreamTrigger.GUARD)
        return self._hurrying(ReadingEnd(StreamTrigger.CALL, calls=calls[:MOST_CALLS]))

    def _hurrying(self, end: ReadingEnd) -> ReadingEnd:
        """End simulated waits at once (spec 04 O4a), before the next one begins."""
        self._waits.hurry()
        return end

    async def _feed_slices(self, *, is_text: bool) -> None:
        output = self._output
        while not output.stopped and (text := output.next_slice()):
            output.feed(text)
            if output.guarded:
                return
            await asyncio.sleep(0)
            self._timer.touch()
            if output.is_ahead:
                await self._wait_for_room()
        if is_text and not output.stopped:
            output.after_slices(self._waits.now())

    async def _wait_for_room(self) -> None:
        """Wait until the queue has room. This does not count as the model's silence."""
        self._output.is_ahead = False
        self._timer.stop()
        await self._queue.room()
        self._thinking.restart()
        self._timer.start()

    def _cut_off_by(self, error: BaseException) -> ReadingEnd:
        """Return how reading ended when the provider gave no further chunk."""
        if isinstance(error, StopAsyncIteration):
            self._output.finish()
            # The engine's guard, or the adapter's, which holds back the last characters (02).
            guarded = self._output.guarded or self._output.finish_reason == "speaker_guard"
            return ReadingEnd(StreamTrigger.GUARD if guarded else StreamTrigger.END)
        if isinstance(error, Exception):
            return self._failed(self._classified(error))
        if _is_cancelled():
            raise error
        # Not ours: something inside the adapter gave up.
        return self._failed(ProviderError("network", provider=self._provider.name))

    def _failed(self, error: ProviderError) -> ReadingEnd:
        self._output.finish()
        return self._hurrying(ReadingEnd(StreamTrigger.ERROR, error=error))

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
