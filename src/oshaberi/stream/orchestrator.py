"""Step 04: one stream from the provider's chunks to sent messages and exactly one result.

Reading and sending run side by side; this watches both, handles stops and applies the time limits.
`reader` routes the chunks, `result` chooses the status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal, assert_never

from oshaberi.delivery.config import StreamConfig, text_config
from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.notices import error_notice, timeout_notice
from oshaberi.delivery.outcomes import Broken
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.stream.context import StreamContext
from oshaberi.stream.model_output import ModelOutput, Reemission, ThoughtLog
from oshaberi.stream.observers import traced_request
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.reader import CLOSE_SECONDS, ChunkReader, InactivityTimer
from oshaberi.stream.result import (
    Metrics,
    ReadingEnd,
    StreamFacts,
    StreamPhase,
    StreamResult,
    StreamTrigger,
    following,
    verdict_on,
)
from oshaberi.stream.stops import ActiveChannel, StopRequest
from oshaberi.text.silence import SilenceMarkerFilter
from oshaberi.turn_tracing import is_traced
from oshaberi.virtual_time import settle

log = logging.getLogger(__name__)

LEAVE_SECONDS = 2 * CLOSE_SECONDS


class StreamTasks:
    """The two tasks of a stream, reading and delivering; `on_done` is called when one ends."""

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
        response = context.response
        self._provider = provider
        self._config = config
        self._context = context
        self._sink = sink
        self._response = response
        self._indicator = response.indicator
        self._is_indicators_first = not self._indicator.is_on
        self._channel = channel
        self._phase = StreamPhase.NEW
        self._wake = asyncio.Event()
        self._waits = InterruptibleWaits()
        self._began_at = self._waits.now()
        self._engine = context.make_engine(text_config(config), response.carry)
        self._deliverer = Deliverer(
            config,
            sink,
            response,
            self._waits,
            preview=self._engine.preview,
            renderer=context.renderer,
            plug_ins=context.plug_ins,
            reply_to=context.reply_to,
            on_sent=self._on_sent,
        )
        self._output = ModelOutput(
            self._engine,
            config.max_thinking_ms,
            dedup=_dedup(config) if provider.reemits else None,
            silence=_silence_filter(config, context),
            on_text=self._deliverer.on_text,
            on_first_words=self._indicator.words_came if self._indicator.awaits_words else None,
            on_chunk=None if context.progress is None else self._on_chunk,
        )
        self._timer = InactivityTimer(
            config.inactivity_timeout_ms,
            config.max_answer_ms,
            lambda: self._output.last_chunk_at,
            self._wake.set,
            self._waits.now,
        )
        context.silent_s = self._timer.silent_s
        self._reader = ChunkReader(
            provider,
            self._output,
            self._deliverer,
            self._waits,
            self._timer,
            config.max_thinking_ms,
        )
        self._tasks: StreamTasks
        self._ending: ReadingEnd | None = None
        self._stop: StopRequest | None = None
        self._broken: Broken | None = None
        self._unfinished = ""
        """The half clause that a stop cut off."""
        self._crashed = False
        self._ends_early = False

    async def run(self, request: Any) -> StreamResult:
        # Once per token it passes through what is awaited here: no wrapper without need.
        reading = self._reader.run(request)
        if is_traced():
            reading = traced_request(self._provider, self._output, reading)
        self._tasks = StreamTasks(self._reader, reading, self._deliverer.run(), self._wake.set)
        if not self._config.suppress_text_output:
            self._indicator.keep_alive(self._sink)
        try:
            hurry = self._waits.hurry
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
            trigger = await self._wait_for_trigger()
            self._move(trigger)
            await self._act(trigger)
        await self._show_failure()

    def _move(self, trigger: StreamTrigger) -> None:
        self._phase = following(self._phase, trigger)

    async def _wait_for_trigger(self) -> StreamTrigger:
        while True:
            trigger = self._next_trigger()
            if trigger is StreamTrigger.TIMEOUT:
                # Whatever else happens at this instant comes first (spec 10, ties).
                await settle()
                trigger = self._next_trigger()
            if trigger is not None:
                return trigger
            await self._wake.wait()
            self._wake.clear()

    def _next_trigger(self) -> StreamTrigger | None:
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
        late = self._timer.error(self._provider.name)
        self._end_reading()
        if trigger is StreamTrigger.TIMEOUT:
            self._ending = self._ending or ReadingEnd(trigger, error=late)
            self._deliverer.add(self._output.finish())
        self._waits.hurry()
        self._deliverer.close(response_ends=trigger is not StreamTrigger.CALL)

    async def _stop_now(self) -> None:
        self._stop = self._channel.consume()
        await self._halt()
        last = await self._output.cut_for_stop(trim=not self._config.suppress_text_output)
        self._unfinished = "\n".join(event.text for event in last.cut)
        events = last.events
        if last.only_buffer and self._broken is None:
            await self._deliverer.close_with(events)
            events = []
        self._deliverer.drop("stop", events, last.cut)
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
        last = await self._output.cut_at_boundary()
        self._deliverer.add(last.events)
        self._deliverer.close(response_ends=True)

    async def _give_way(self) -> None:
        self._stop = self._channel.consume()
        await self._halt()
        self._deliverer.drop("follow_up")
        last = await self._output.discard()
        self._deliverer.drop("follow_up", last.events, last.cut)
        await self._correct()
        self._move(StreamTrigger.DRAINED)

    async def _give_up(self) -> None:
        """End delivery. The remaining text is reported as undelivered."""
        self._deliverer.halt()
        self._end_reading()
        last = await self._output.cut_for_stop()
        self._deliverer.drop(self._broken.reason if self._broken else "error", last.events)
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
        self._timer.stop()
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
        self._timer.stop()
        self._tasks.cancel()
        if self._is_indicators_first:
            await self._indicator.close()
        elif self._is_complete:
            self._indicator.rest()
        await self._tasks.leave()
        self._waits.close()

    @property
    def _is_complete(self) -> bool:
        """Whether the response is over: neither a tool nor another model will go on."""
        called = self._ending is not None and self._ending.trigger is StreamTrigger.CALL
        return self._deliverer.record.visible > 0 and not called

    def _on_stop(self) -> None:
        """React to a stop at once: nothing more is read or sent."""
        pending = self._channel.pending
        if pending is None or not pending.at_boundary:
            self._indicator.rest()
            self._waits.halt()
            self._reader.stop()
        self._wake.set()

    def _on_sent(self) -> None:
        self._timer.extend()
        self._tell_progress("sent")

    def _on_chunk(self) -> None:
        self._tell_progress("chunk")

    def _tell_progress(self, what: Literal["chunk", "sent"]) -> None:
        if self._context.progress is None:
            return
        try:
            self._context.progress(what)
        except Exception:
            log.exception("a progress callback failed")

    def _result(self) -> StreamResult:
        self._close_books()
        output, record, now = self._output, self._deliverer.record, self._waits.now()
        facts = StreamFacts(
            stop=self._stop,
            ending=self._ending,
            broken=self._broken,
            expected=record.ledger.expected,
            visible=record.visible,
            last_error=record.last_error,
        )
        verdict = verdict_on(facts)
        return StreamResult(
            status=verdict.status,
            stop_reason=verdict.stop_reason,
            data=verdict.data,
            calls=self._ending.calls if self._ending else (),
            accumulated_text="\n".join(record.history),
            thought_log=ThoughtLog(
                parts=output.thoughts.parts(),
                provider=self._provider.name,
                model=self._provider.model,
                duration_ms=_ms(now - self._began_at),
                first_reply_url=self._response.first_url,
            ),
            details=tuple(output.details),
            undelivered=record.ledger.undelivered,
            unfinished=self._unfinished,
            finish_reason=output.finish_reason,
            usage=output.usage,
            continuation_prefill=output.continuation_prefill,
            metrics=self._metrics(now),
            ledger=record.ledger,
        )

    def _close_books(self) -> None:
        """Note what the turn's next stream needs, and check the ledger."""
        output, ledger = self._output, self._deliverer.record.ledger
        self._response.note_stream(self._engine.carry(), output.first_token_at)
        if output.silence is not None and output.silence.found:
            self._response.choose_silence(output.silence.reason)
        self._deliverer.drop("error")
        if self._crashed:
            ledger.settle_open("uncertain")
        for problem in ledger.problems():
            log.error("the ledger does not add up: %s", problem)

    def _metrics(self, now: float) -> Metrics:
        output, record = self._output, self._deliverer.record
        first = record.first_at
        return Metrics(
            chunks=output.chunks,
            characters=output.characters,
            messages=record.sent,
            first_message_ms=None if first is None else _ms(first - self._began_at),
            queue_wait_ms=_ms(record.longest_wait),
            duration_ms=_ms(now - self._began_at),
        )


def _silence_filter(config: StreamConfig, context: StreamContext) -> SilenceMarkerFilter | None:
    markers = [marker for marker in context.silence_markers if marker.strip()]
    if not markers:
        return None
    persona = config.text.persona
    return SilenceMarkerFilter(
        markers,
        () if persona is None else persona.names,
        is_offered=context.offers_silence,
        is_topic=context.asks_about_silence,
        starts_in_thought=config.text.starts_in_thought,
    )


def _dedup(config: StreamConfig) -> Reemission:
    return Reemission(config.stream_chunk_dedup_min_chars, config.stream_chunk_dedup_tail_chars)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
