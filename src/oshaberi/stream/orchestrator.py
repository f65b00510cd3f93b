"""Step 04: one stream from the provider's chunks to sent messages and exactly one result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.outcome_handling import error_notice, timeout_notice
from oshaberi.delivery.outcomes import Broken
from oshaberi.delivery.sink import Sink
from oshaberi.stream.context import StreamContext
from oshaberi.stream.ending import StreamFacts, close_books, report
from oshaberi.stream.observers import traced_request
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.reader import CLOSE_SECONDS, ChunkReader, ReadingEnd
from oshaberi.stream.result import StreamResult
from oshaberi.stream.states import StreamPhase, StreamTrigger, following
from oshaberi.stream.stops import ActiveChannel, StopRequest
from oshaberi.stream.stream_parts import StreamParts
from oshaberi.turn_spans import is_traced
from oshaberi.virtual_time import settle

# The two tasks of a stream, reading and delivering, and how they are ended.


LEAVE_SECONDS = 2 * CLOSE_SECONDS


class StreamTasks:
    """Runs both tasks; `on_done` is called when one ends."""

    def __init__(
        self,
        reader: ChunkReader,
        reading: Coroutine[Any, Any, ReadingEnd],
        delivering: Coroutine[Any, Any, Broken | None],
        on_done: Callable[[], None],
    ) -> None:
        self.reading = asyncio.create_task(reading)
        self.delivering = asyncio.create_task(delivering)
        self._reader = reader
        self._closing: asyncio.Task[None] | None = None
        for task in (self.reading, self.delivering):
            task.add_done_callback(lambda _task: on_done())

    def end_reading(self) -> None:
        """Read nothing more, and release the provider's connection."""
        self._reader.stop()
        if self._closing is None:
            self.reading.cancel()
            self._closing = asyncio.create_task(self._close_provider())

    async def _close_provider(self) -> None:
        """Cancel reading once, so that an adapter can clean up; again if that takes long."""
        await asyncio.wait({self.reading}, timeout=CLOSE_SECONDS)
        self.reading.cancel()
        await self._reader.close()

    def cancel(self) -> None:
        self.end_reading()
        self.delivering.cancel()

    async def leave(self) -> None:
        """Wait until all tasks have ended, for a limited time (spec 04 O10)."""
        tasks = [self.reading, self.delivering, self._closing]
        left: list[asyncio.Task[Any]] = [task for task in tasks if task is not None]
        await asyncio.wait(left, timeout=LEAVE_SECONDS)
        for task in left:
            if task.done() and not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it


# Step 04: one stream from the provider's chunks to sent messages and exactly one result.
#
# Reading and sending run side by side; this watches both, handles stops and applies the time
# limits. `reader` routes the chunks, `ending` chooses the status,
# `ending` makes the result.


log = logging.getLogger(__name__)


async def stream_to_sink(
    provider: Provider, request: Any, config: StreamConfig, context: StreamContext, sink: Sink
) -> StreamResult:
    """Deliver one answer. Never raises, except that a cancellation is passed on."""
    with context.stops.active(context.channel, context.user) as channel:
        try:
            stream = _Stream(provider, config, context, sink, channel)
        except Exception as error:
            log.exception("a stream could not begin")
            return StreamResult("error", data=error)
        return await stream.run(request)


class _Stream:
    """The state of one running stream."""

    def __init__(
        self,
        provider: Provider,
        config: StreamConfig,
        context: StreamContext,
        sink: Sink,
        channel: ActiveChannel,
    ) -> None:
        self._config = config
        self._sink = sink
        self._indicator = context.response.indicator
        self._is_indicators_first = not self._indicator.is_on
        self._channel = channel
        self._phase = StreamPhase.NEW
        self._wake = asyncio.Event()
        self._parts = StreamParts(provider, config, context, sink, self._wake.set)
        self._deliverer = self._parts.deliverer
        self._closing = self._parts.closing
        self._tasks: StreamTasks
        self._ending: ReadingEnd | None = None
        self._stop: StopRequest | None = None
        self._broken: Broken | None = None
        self._crashed = False
        self._ends_early = False

    async def run(self, request: Any) -> StreamResult:
        # Once per token it passes through what is awaited here: no wrapper without need.
        reader = self._parts.reader
        reading = reader.run(request)
        if is_traced():
            reading = traced_request(self._parts.provider, self._parts.output, reading)
        self._tasks = StreamTasks(reader, reading, self._deliverer.run(), self._wake.set)
        if not self._config.suppress_text_output:
            self._indicator.keep_alive(self._sink)
        try:
            hurry = self._parts.waits.hurry
            with self._channel.heard_by(self._on_stop), self._channel.hurried_by(hurry):
                await self._watch()
        except Exception as error:
            log.exception("a stream failed by a fault of ours")
            self._crashed = True
            self._broken = Broken("error", error)
        finally:
            await self._leave()
        return self._result()

    async def _watch(self) -> None:
        self._move(StreamTrigger.OPEN)
        while self._phase is not StreamPhase.DONE:
            trigger = await self._next()
            self._move(trigger)
            await self._act(trigger)
        await self._show_failure()

    def _move(self, trigger: StreamTrigger) -> None:
        self._phase = following(self._phase, trigger)

    async def _next(self) -> StreamTrigger:
        while True:
            trigger = self._seen()
            if trigger is StreamTrigger.TIMEOUT:
                # Whatever else happens at this instant comes first (spec 10, ties).
                await settle()
                trigger = self._seen()
            if trigger is not None:
                return trigger
            await self._wake.wait()
            self._wake.clear()

    def _seen(self) -> StreamTrigger | None:
        """Return the most urgent thing that has happened, or None."""
        pending = self._channel.pending
        if pending is not None and not pending.at_boundary:
            return StreamTrigger.FOLLOW_UP if pending.follow_up else StreamTrigger.STOP
        if self._phase is StreamPhase.READING and self._tasks.reading.done():
            self._ending = self._tasks.reading.result()
            return self._ending.trigger
        if pending is not None and not self._ends_early:
            return StreamTrigger.CLOSE
        if self._tasks.delivering.done():
            self._broken = self._tasks.delivering.result()
            return StreamTrigger.BROKEN if self._broken else StreamTrigger.DRAINED
        return StreamTrigger.TIMEOUT if self._parts.timer.overdue else None

    async def _act(self, trigger: StreamTrigger) -> None:
        match trigger:
            case StreamTrigger.END | StreamTrigger.GUARD:
                self._end_reading()
                self._deliverer.close(response_ends=True)
            case StreamTrigger.CALL | StreamTrigger.ERROR | StreamTrigger.TIMEOUT:
                self._hurry(trigger)
            case StreamTrigger.STOP:
                await self._stop_now()
            case StreamTrigger.CLOSE:
                await self._end_at_boundary()
            case StreamTrigger.FOLLOW_UP:
                await self._give_way()
            case StreamTrigger.BROKEN:
                await self._give_up()
            case StreamTrigger.DRAINED | StreamTrigger.OPEN:
                pass
            case _:
                assert_never(trigger)

    def _hurry(self, trigger: StreamTrigger) -> None:
        """Send the queue without simulated waits (spec 04 O4a)."""
        late = self._parts.timer.error(self._parts.provider.name)
        self._end_reading()
        if trigger is StreamTrigger.TIMEOUT:
            self._ending = self._ending or ReadingEnd(trigger, error=late)
            self._parts.output.finish()
        self._parts.waits.hurry()
        self._deliverer.close(response_ends=trigger is not StreamTrigger.CALL)

    async def _stop_now(self) -> None:
        self._stop = self._channel.consume()
        await self._halt()
        messages, only_buffer = await self._closing.flush(
            trim=not self._config.suppress_text_output
        )
        if only_buffer and self._broken is None:
            await self._deliverer.close_with(messages)
            messages = []
        self._deliverer.drop("stop", messages)
        self._closing.drop_trimmed("stop")
        await self._correct()
        self._move(StreamTrigger.DRAINED)

    async def _end_at_boundary(self) -> None:
        """Send finished text without simulated waits; drop a half sentence at the end.

        If the model had finished, it is not interrupted: the request is left for the turn,
        which may have more to do.
        """
        self._ends_early = True
        self._parts.waits.hurry()
        if self._ending is not None:
            return
        self._stop = self._channel.consume()
        self._end_reading()
        self._deliverer.add(await self._closing.flush_whole())
        self._deliverer.close(response_ends=True)

    async def _give_way(self) -> None:
        self._stop = self._channel.consume()
        await self._halt()
        self._deliverer.drop("follow_up")
        await self._closing.discard()
        await self._correct()
        self._move(StreamTrigger.DRAINED)

    async def _give_up(self) -> None:
        """End delivery. The remaining text is reported as undelivered."""
        self._deliverer.halt()
        self._end_reading()
        messages, _ = await self._closing.flush()
        self._deliverer.drop(self._broken.reason if self._broken else "error", messages)
        await self._correct()
        self._move(StreamTrigger.DRAINED)

    async def _correct(self) -> None:
        """Remove shown text that was dropped (live mode), if the channel allows it."""
        if self._broken is None or self._broken.reason != "channel_unavailable":
            await self._deliverer.correct()

    async def _halt(self) -> None:
        """Stop sending. Requests on the wire are awaited and counted."""
        self._deliverer.halt()
        self._end_reading()
        await asyncio.wait({self._tasks.delivering})
        self._broken = self._tasks.delivering.result()

    def _end_reading(self) -> None:
        self._parts.timer.stop()
        self._tasks.end_reading()

    async def _show_failure(self) -> None:
        """Show one embed per failure, after the text that came before it (spec 04 O9)."""
        lost = self._broken is not None and self._broken.reason in ("channel_unavailable", "error")
        unwanted = self._config.suppress_user_errors or self._stop is not None
        if lost or unwanted or self._ending is None:
            return
        if self._ending.error is not None:
            await self._deliverer.show(error_notice(self._ending.error))
        elif self._ending.trigger is StreamTrigger.TIMEOUT:
            await self._deliverer.show(timeout_notice(self._config.inactivity_timeout_ms))

    async def _leave(self) -> None:
        """Release everything, whatever happened (spec 04 O10)."""
        self._parts.timer.stop()
        self._tasks.cancel()
        if self._is_indicators_first:
            await self._indicator.close()
        elif self._has_said_all:
            self._indicator.rest()
        await self._tasks.leave()
        self._parts.waits.close()

    @property
    def _has_said_all(self) -> bool:
        """Return whether the response is over: neither a tool nor another model will go on."""
        called = self._ending is not None and self._ending.trigger is StreamTrigger.CALL
        return self._deliverer.delivery_record.visible > 0 and not called

    def _on_stop(self) -> None:
        """React to a stop at once: nothing more is read or sent."""
        pending = self._channel.pending
        if pending is None or not pending.at_boundary:
            self._indicator.rest()
            self._parts.waits.halt()
            self._parts.reader.stop()
        self._wake.set()

    def _result(self) -> StreamResult:
        parts = self._parts
        close_books(parts, crashed=self._crashed)
        facts = StreamFacts(
            stop=self._stop,
            ending=self._ending,
            broken=self._broken,
            expected=parts.ledger.expected,
            visible=self._deliverer.delivery_record.visible,
            last_error=self._deliverer.last_error,
        )
        return report(facts, parts)
