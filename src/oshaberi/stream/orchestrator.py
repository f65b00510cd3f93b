"""Stage 04: one stream from the provider's chunks to sent messages and exactly one result.

Reading and sending run side by side; this watches both, handles stops and applies the time limits.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal, assert_never

from oshaberi.delivery.bookkeeping.character_ledger import Ledger
from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.send_outcome import Broken
from oshaberi.delivery.posting.stream_notices import error_notice, timeout_notice
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.stream.chunk_reader import CLOSE_SECONDS, ChunkReader, ReadingEnd
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.request_span import traced_request
from oshaberi.stream.result_report import report
from oshaberi.stream.silence_marker import MarkerFilteredEngine
from oshaberi.stream.stops.stop_registry import ActiveChannel, StopRequest
from oshaberi.stream.stream_context import StreamContext, StreamTextEngine
from oshaberi.stream.stream_result import StreamResult
from oshaberi.stream.stream_state import StreamPhase, StreamTrigger, following
from oshaberi.stream.stream_status import StreamFacts
from oshaberi.stream.time_limits.inactivity_timer import InactivityTimer
from oshaberi.turn_spans import is_traced
from oshaberi.virtual_time import settle

log = logging.getLogger(__name__)

LEAVE_SECONDS = 2 * CLOSE_SECONDS


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
        self._context = context
        self._provider = provider
        self._sink = sink
        self._indicator = context.response.indicator
        self._is_indicators_first = not self._indicator.is_on
        self._channel = channel
        self._phase = StreamPhase.NEW
        self._began = _now()
        self._wake = asyncio.Event()
        self._waits = InterruptibleWaits()
        self._ledger = Ledger()
        self._timer = InactivityTimer(config.inactivity_timeout_ms, self._wake.set)
        self._engine = self._made_engine()
        self._deliverer = Deliverer(
            config,
            sink,
            context.response,
            waits=self._waits,
            ledger=self._ledger,
            renderer=context.renderer,
            plug_ins=context.plug_ins,
            reply_to=context.reply_to,
            on_sent=self._on_sent,
            preview=self._engine.preview,
        )
        self._reader = ChunkReader(
            provider,
            config,
            self._engine,
            self._deliverer,
            self._ledger,
            self._timer,
            None if context.progress is None else self._on_chunk,
        )
        self._reading: asyncio.Task[ReadingEnd]
        self._delivering: asyncio.Task[Broken | None]
        self._closing: asyncio.Task[None] | None = None
        self._ending: ReadingEnd | None = None
        self._stop: StopRequest | None = None
        self._broken: Broken | None = None
        self._crashed = False
        self._ends_early = False

    def _made_engine(self) -> StreamTextEngine:
        context = self._context
        engine = context.make_engine(self._config.text, context.response.carry)
        markers = context.silence_markers
        return MarkerFilteredEngine(engine, markers) if markers else engine

    async def run(self, request: Any) -> StreamResult:
        # Once per token it passes through what is awaited here: no wrapper without need.
        reading = (
            traced_request(self._provider, self._reader, request)
            if is_traced()
            else self._reader.run(request)
        )
        self._reading = asyncio.create_task(reading)
        self._delivering = asyncio.create_task(self._deliverer.run())
        for task in (self._reading, self._delivering):
            task.add_done_callback(self._on_done)
        if not self._config.suppress_text_output:
            self._indicator.keep_alive(self._sink)
        try:
            with self._channel.heard_by(self._on_stop):
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
        if self._phase is StreamPhase.READING and self._reading.done():
            self._ending = self._reading.result()
            return self._ending.trigger
        if pending is not None and not self._ends_early:
            return StreamTrigger.CLOSE
        if self._delivering.done():
            self._broken = self._delivering.result()
            return StreamTrigger.BROKEN if self._broken else StreamTrigger.DRAINED
        return StreamTrigger.TIMEOUT if self._timer.overdue else None

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
        self._end_reading()
        if trigger is StreamTrigger.TIMEOUT:
            self._ending = self._ending or ReadingEnd(trigger)
            self._reader.finish()
        self._waits.hurry()
        self._deliverer.close(response_ends=trigger is not StreamTrigger.CALL)

    async def _stop_now(self) -> None:
        self._stop = self._channel.consume()
        await self._halt()
        messages, only_buffer = await self._reader.flush(trim=not self._config.suppress_text_output)
        if only_buffer and self._broken is None:
            await self._deliverer.close_with(messages)
            messages = []
        self._deliverer.drop("stop", messages)
        self._reader.drop_trimmed("stop")
        await self._correct()
        self._move(StreamTrigger.DRAINED)

    async def _end_at_boundary(self) -> None:
        """Send finished text without simulated waits; drop a half sentence at the end.

        If the model had finished, it is not interrupted: the request is left for the turn,
        which may have more to do.
        """
        self._ends_early = True
        self._waits.hurry()
        if self._ending is not None:
            return
        self._stop = self._channel.consume()
        self._end_reading()
        self._deliverer.add(await self._reader.flush_whole())
        self._deliverer.close(response_ends=True)

    async def _give_way(self) -> None:
        self._stop = self._channel.consume()
        await self._halt()
        self._deliverer.drop("follow_up")
        await self._reader.discard()
        await self._correct()
        self._move(StreamTrigger.DRAINED)

    async def _give_up(self) -> None:
        """End delivery. The remaining text is reported as undelivered."""
        self._deliverer.halt()
        self._end_reading()
        messages, _ = await self._reader.flush()
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
        await asyncio.wait({self._delivering})
        self._broken = self._delivering.result()

    def _end_reading(self) -> None:
        self._timer.stop()
        self._reader.stop()
        if self._closing is None:
            self._reading.cancel()
            self._closing = asyncio.create_task(self._close_provider())

    async def _close_provider(self) -> None:
        """Cancel reading once, so that an adapter can clean up; again if that takes long."""
        await asyncio.wait({self._reading}, timeout=CLOSE_SECONDS)
        self._reading.cancel()
        await self._reader.close()

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
        """Release the connection and end all tasks, whatever happened (spec 04 O10)."""
        self._end_reading()
        self._delivering.cancel()
        if self._is_indicators_first:
            await self._indicator.close()
        elif self._has_said_all:
            self._indicator.rest()
        tasks = [self._reading, self._delivering, self._closing]
        left: list[asyncio.Task[Any]] = [task for task in tasks if task is not None]
        await asyncio.wait(left, timeout=LEAVE_SECONDS)
        for task in left:
            if task.done() and not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it
        self._waits.close()

    @property
    def _has_said_all(self) -> bool:
        """Tell whether the response is over: neither a tool nor another model will go on."""
        called = self._ending is not None and self._ending.trigger is StreamTrigger.CALL
        return self._deliverer.delivery_record.visible > 0 and not called

    def _on_stop(self) -> None:
        """React to a stop at once: nothing more is read or sent."""
        pending = self._channel.pending
        if pending is None or not pending.at_boundary:
            self._indicator.rest()
            self._waits.halt()
            self._reader.stop()
        self._wake.set()

    def _on_done(self, _task: asyncio.Task[Any]) -> None:
        self._wake.set()

    def _on_sent(self) -> None:
        self._timer.touch()
        self._tell("sent")

    def _on_chunk(self) -> None:
        self._tell("chunk")

    def _tell(self, what: Literal["chunk", "sent"]) -> None:
        if self._context.progress is None:
            return
        try:
            self._context.progress(what)
        except Exception:
            log.exception("a progress callback failed")

    def _result(self) -> StreamResult:
        self._close_books()
        delivery_record = self._deliverer.delivery_record
        facts = StreamFacts(
            stop=self._stop,
            ending=self._ending,
            broken=self._broken,
            expected=self._ledger.expected,
            visible=delivery_record.visible,
            last_error=self._deliverer.last_error,
        )
        response = self._context.response
        return report(
            facts,
            self._provider,
            self._reader,
            delivery_record,
            response,
            self._ledger,
            self._began,
        )

    def _close_books(self) -> None:
        """Store what the turn's next stream needs, and check the ledger."""
        response = self._context.response
        response.carry = self._engine.carry()
        if response.first_token_at is None:
            response.first_token_at = self._reader.first_token_at
        if isinstance(self._engine, MarkerFilteredEngine) and self._engine.found:
            response.chose_silence = True
        visible = "\n".join(self._deliverer.delivery_record.history)
        if visible.strip():
            response.text_parts.append(visible)
        self._deliverer.drop("error")
        if self._crashed:
            self._ledger.settle_open("uncertain")
        for problem in self._ledger.problems():
            log.error("the ledger does not add up: %s", problem)


def _now() -> float:
    return asyncio.get_running_loop().time()
