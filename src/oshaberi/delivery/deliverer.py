"""The loop of step 07b: take a message from the queue, wait, send it, record the outcome.

One deliverer runs beside the reader of each stream. It ends when the queue is closed and empty,
when a stop halts it, or when it cannot continue; messages left in the queue were not sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from oshaberi.delivery.attachments import DeliveryPlugIns, TableRenderer
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.delivery_record import DeliveryRecord
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.leave_times import BucketWaits, TypingWaits
from oshaberi.delivery.ledger import Ledger
from oshaberi.delivery.live import EditPace, LiveEdits, LiveGrowth
from oshaberi.delivery.outcome_handling import LimitOverrun, OutcomeHandler, refuses_pictures, show
from oshaberi.delivery.outcomes import Broken, Delivered, MessageLimits
from oshaberi.delivery.pacing import (
    gathers,
    grows,
    paces,
    policy_of,
    shows_unfinished,
)
from oshaberi.delivery.posting import MessageEdits, MessagePoster, NotifyPolicy
from oshaberi.delivery.queue import MessageQueue, OutgoingBuilder, OutgoingMessage
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, File, Sink
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Message, Table

# What a delivery is made of: queue, pace, sender, live edits and books, wired together.


class DeliveryParts:
    """The parts of one delivery. `on_sent` is called after every success."""

    def __init__(
        self,
        config: StreamConfig,
        sink: Sink,
        response: ResponseState,
        *,
        waits: InterruptibleWaits,
        ledger: Ledger,
        renderer: TableRenderer,
        plug_ins: DeliveryPlugIns,
        reply_to: bool,
        on_sent: Callable[[], None],
    ) -> None:
        limit = config.text.max_single_message_length
        self.config = config
        self.response = response
        self.waits = waits
        self.closing = False
        """The one flush after a stop is being sent, which a stop does not forbid."""
        self.queue = MessageQueue(limit)
        self.record = DeliveryRecord(response, ledger, config.text.persona, on_sent, waits.now)
        self.pace = TypingWaits(config.max_backlog_ms, self.queue, response, waits)
        self.room = BucketWaits(config, sink, self.queue, response, waits, self.pace)
        self.limits = MessageLimits(config, response)
        self.notify = NotifyPolicy(config, self.limits, response)
        self.outcomes = OutcomeHandler(self.record, self.queue, waits)
        self.builder = OutgoingBuilder(config, response, ledger, renderer, plug_ins, waits)
        self.sender = ExactlyOnceSender(sink, waits, response)
        self.overrun = LimitOverrun(config, response, self.sender, self.record, self.outcomes)
        self.poster = MessagePoster(
            config, sink, self.sender, response, self.record, self._may_send, reply_to, plug_ins
        )
        self.edit_pace = EditPace(sink, self.queue, waits)
        edits = MessageEdits(sink, waits, response)
        self.live_edits = LiveEdits(
            limit, edits, self.poster, response, self.record, self.edit_pace, self.outcomes
        )

    def _may_send(self) -> bool:
        return self.closing or not self.waits.halted


# Takes the engine's messages and sends them: in order, at a human pace, within the limits.
#
# One runs beside the reader of each stream. It ends when the queue is closed and empty, when a
# stop halts it, or when it cannot continue; messages left in the queue were not sent.


class Deliverer:
    """Sends the messages of one stream. `preview` returns the unfinished text, for live mode."""

    def __init__(self, parts: DeliveryParts, preview: Callable[[], Sequence[Message]]) -> None:
        self.queue = parts.queue
        self.delivery_record = parts.record
        self._parts = parts
        self._config = parts.config
        self._response = parts.response
        self._waits = parts.waits
        self._room = parts.room
        self._pace = parts.pace
        self._limits = parts.limits
        self._notify = parts.notify
        self._outcomes = parts.outcomes
        self._builder = parts.builder
        self._overrun = parts.overrun
        self._poster = parts.poster
        self._live_edits = parts.live_edits
        self._is_live = grows(self._config)
        self._gathers = gathers(self._config)
        self._paces = paces(self._config)
        self._response_ends = False
        self._held_as_last = False
        self._growth: LiveGrowth | None = None
        if shows_unfinished(self._config):
            self._growth = LiveGrowth(
                preview, self._live_edits, self.queue, self._may_begin, self._is_silent
            )
        indicator = self._response.indicator
        indicator.is_last_message = lambda: self._response_ends and not self.queue
        indicator.next_edit_at = self._next_edit_at if self.shows_unfinished else None

    @property
    def last_error(self) -> Exception | None:
        """Return the error of the last message that failed."""
        return self._outcomes.last_error

    def add(self, events: Iterable[Message | Table]) -> None:
        """Queue the engine's messages. Never waits: the reader waits for room beforehand."""
        items = [self._builder.pack(event) for event in events]
        if self._config.suppress_text_output:
            for item in items:
                self.delivery_record.collected(item)
        else:
            self.queue.extend(items)
            if self._gathers:
                self.queue.join_while(self._live_edits.live.takes)

    @property
    def shows_unfinished(self) -> bool:
        """Return whether it must be told about new text (live mode)."""
        return self._growth is not None

    def text_came(self) -> None:
        if self._growth is not None:
            self._growth.text_came()

    def close(self, *, response_ends: bool) -> None:
        """Note that nothing more will be added."""
        self._response_ends = response_ends
        self.queue.close()

    def halt(self) -> None:
        """Stop sending. No further message is sent."""
        self._held_as_last = bool(self.queue) and not self.queue.ready(self._notify.least_waiting)
        self._response.indicator.rest()
        self._waits.halt()
        self.queue.close()

    def drop(self, reason: str, unpacked: Iterable[Message | Table] = ()) -> None:
        """Discard the waiting messages and the engine's last ones, with this reason."""
        self._overrun.drop(reason)
        for item in self.queue.clear():
            self.delivery_record.lost([item], self.fate_of(item.text, reason))
        if self._config.suppress_text_output:
            self.add(unpacked)
            return
        for event in unpacked:
            text = event.source if isinstance(event, Table) else event.text
            self.delivery_record.forgone([event], self.fate_of(text, reason))

    def fate_of(self, text: str, reason: str) -> str:
        """Return the fate of dropped text. Live mode may have shown its beginning."""
        return "uncertain" if self._live_edits.may_be_there(text) else reason

    async def run(self) -> Broken | None:
        while True:
            if self._growth is not None:
                broken = await self._growth.run(self._ready_or_halted)
                if broken is not None:
                    return broken
            item = await self.queue.head(self._notify.least_waiting)
            if item is None or self._waits.halted:
                break
            broken = await self._step(item)
            if broken is not None:
                return broken
            if self.queue and not self._pace.has_waited:
                # A sink that answers at once must not keep others, or a stop, waiting.
                await asyncio.sleep(0)
        if self._waits.halted:
            return None
        return await self._live_edits.correct() or await self._overrun.attach()

    async def correct(self) -> None:
        """Edit each message after a stop, so that it shows only the text that is kept."""
        await self._live_edits.correct(at_once=True)

    async def show(self, embed: Embed) -> None:
        """Show a notice."""
        await show(embed, self._parts.sender, self._response)

    async def close_with(self, events: Iterable[Message | Table]) -> None:
        """Send the one closing flush after a stop (spec 04 O1). Unsent text stays queued.

        A message that waited only in case it was the last one (`notify: last`) belongs to it.
        """
        if self._config.suppress_text_output:
            self.add(events)
            return
        self._parts.closing = True
        waited = self.queue.clear()
        flushed = [
            part for event in events for part in self._builder.plain(self._builder.pack(event))
        ]
        if self._held_as_last:
            flushed = [part for item in waited for part in self._builder.plain(item)] + flushed
            waited = []
        self.queue.extend([*waited, *flushed])
        home = self._live_edits.live.home_of(next(iter(self.queue))) if self.queue else None
        if home is not None:
            await self._live_edits.take(home, self.queue)
            return
        await self.correct()
        in_doubt = self._outcomes.in_doubt or self._live_edits.in_doubt
        if not waited and not self._overrun.collects and not in_doubt:
            await self._flush(flushed)

    async def _flush(self, flushed: Sequence[OutgoingMessage]) -> None:
        if policy_of(self._config).delivery == "streaming":
            flushed = flushed[:1]
            self.queue.widen_head()
        for _ in flushed:
            waiting = len(self.queue)
            if not waiting or self._limits.reached() is not None:
                return  # those behind a late one have been joined, or no more may leave
            if await self._send(self.queue.take()) is not None:
                return
            if len(self.queue) == waiting:
                return  # it came back: it has not left in time

    async def _step(self, item: OutgoingMessage) -> Broken | None:
        """Send the first waiting message, or decide what else becomes of it."""
        if self._is_live:
            home = self._live_edits.live.home_of(item)
            if home is not None:
                in_time = await self._parts.edit_pace.wait(home)
                return await self._live_edits.take(home, self.queue) if in_time else None
            broken = await self._live_edits.correct()
            if broken is not None or self._waits.halted:
                return broken
            if self._live_edits.may_be_there(item.text):
                self.delivery_record.lost([self.queue.take()], "uncertain")
                return None
        limit = self._limits.reached()
        if limit is not None:
            return await self._overrun.meet(limit, self.queue)
        files: tuple[File, ...] = ()
        if item.becomes_file:
            files = await self._builder.files(item)
            if not files and not self._waits.halted:
                self.queue.take()
                self.queue.put_back(self._builder.plain(item))
                return None
        if self._paces:
            self._room.join()
            await self._pace.wait(self.queue.first)
        await self._room.wait()
        if self._waits.halted or not self.queue.ready(self._notify.least_waiting):
            return None
        silent = self._is_silent()
        return await self._send(self.queue.take(), silent, files)

    def _is_silent(self) -> bool:
        """Return whether the next message is sent without a notification."""
        at_end = self._response_ends and len(self.queue) == 1
        return self._notify.is_silent(ends_response=at_end)

    async def _send(
        self, item: OutgoingMessage, silent: bool = False, files: tuple[File, ...] = ()
    ) -> Broken | None:
        item.attempted = True
        began = self._waits.now()
        outcome, post = await self._poster.send(item, silent=silent, files=files)
        if files and refuses_pictures(outcome):
            # Perhaps only pictures are not wanted here; if it is more, the text will tell.
            self.queue.put_back(self._builder.plain(item))
            return None
        if self._is_live:
            self._live_edits.live.last = None
            if isinstance(outcome, Delivered) and not files:
                self._live_edits.began(outcome.sent, post, item.identity)
        broken = self._outcomes.settle([item], outcome)
        seconds = self._pace.request_seconds = self._waits.now() - began
        if self._config.join_when_blocked:
            self.queue.join_if_blocked(seconds)
        return broken

    def _next_edit_at(self) -> float | None:
        return self._live_edits.next_at(is_text_waiting=bool(self.queue))

    def _may_begin(self) -> bool:
        """Return whether a message may be begun for unfinished text."""
        if self._overrun.collects or self._limits.reached() is not None:
            return False
        return self._room.for_unfinished_text()

    def _ready_or_halted(self) -> bool:
        return self.queue.ready(self._notify.least_waiting) or self._waits.halted
