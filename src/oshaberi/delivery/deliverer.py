"""The loop of step 07b: take a message from the queue, wait, send it, record the outcome.

One deliverer runs beside the reader of each stream. It ends when the queue is closed and empty,
when a stop halts it, or when it cannot continue; messages left in the queue were not sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any

from oshaberi.delivery.attachments import DeliveryPlugIns, TableRenderer
from oshaberi.delivery.config import (
    StreamConfig,
    gathers,
    grows,
    paces,
    policy_of,
    shows_unfinished,
)
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.ledger import Deliverable, DeliveryRecord
from oshaberi.delivery.live import LiveEdits, LiveGrowth, are_one_message
from oshaberi.delivery.message_limits import LimitOverrun
from oshaberi.delivery.notices import show
from oshaberi.delivery.outcomes import (
    Broken,
    Delivered,
    Limit,
    refuses_pictures,
)
from oshaberi.delivery.outgoing_builder import OutgoingBuilder
from oshaberi.delivery.pacing import TypingWaits
from oshaberi.delivery.posting import MessagePoster
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage
from oshaberi.delivery.rate_limit_waits import BLOCKED_SECONDS, BucketWaits
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, File, Sink
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Message, Table, Withheld


class Deliverer:
    """Sends the messages of one stream: in order, at a human pace, within the limits.

    `preview` returns the unfinished text, for live mode. `on_sent` is called after every success.
    """

    def __init__(
        self,
        config: StreamConfig,
        sink: Sink,
        response: ResponseState,
        waits: InterruptibleWaits,
        *,
        preview: Callable[[], Sequence[Message]],
        renderer: TableRenderer,
        plug_ins: DeliveryPlugIns,
        reply_to: bool,
        on_sent: Callable[[], None],
    ) -> None:
        limit = config.text.max_single_message_length
        self.queue = queue = MessageQueue(limit)
        self.record = DeliveryRecord(response, config.text.persona, queue, waits, on_sent)
        self._config = config
        self._response = response
        self._waits = waits
        self._limit = limit
        self._least_waiting = 2 if config.notify == "last" else 1
        """How many messages must wait before one is sent: with `notify: last`, two."""
        self._pace = None
        if paces(config):
            self._pace = TypingWaits(config.max_backlog_ms, queue, response, waits)
        self._room = BucketWaits(config, sink, queue, response, waits, self._pace)
        self._builder = OutgoingBuilder(config, response, renderer, plug_ins, waits)
        self._sender = ExactlyOnceSender(sink, waits, response)
        self._poster = MessagePoster(
            config, sink, self._sender, response, self.record, self._may_send, reply_to, plug_ins
        )
        self._overrun: LimitOverrun | None = None
        self._live: LiveEdits | None = None
        self._growth: LiveGrowth | None = None
        if grows(config):
            self._live = LiveEdits(
                config.text, sink, queue, response, waits, self._poster, self.record
            )
        if self._live is not None and shows_unfinished(config):
            self._growth = LiveGrowth(preview, self._live, queue, self._may_begin, self._is_silent)
        self.on_text = None if self._growth is None else self._growth.text_came
        """What to call when text has come, in live mode."""
        self._gathers = gathers(config)
        self._is_closing = False
        """The one flush after a stop is being sent, which a stop does not forbid."""
        self._response_ends = False
        self._held_as_last = False
        next_edit_at = None if self._growth is None else self._next_edit_at
        response.indicator.follow(self._ends_with_this, next_edit_at)

    # -- input from the text engine ----------------------------------------------------------

    def add(self, events: Iterable[Deliverable]) -> None:
        """Queue the engine's messages. Never waits: the reader waits for room beforehand."""
        items = list(self._pack(events))
        if self._config.suppress_text_output:
            for item in items:
                self.record.note_suppressed(item)
            return
        self.queue.extend(items)
        if self._gathers:
            self.queue.join_while(lambda one, next_: are_one_message(one, next_, self._limit))

    def _pack(self, events: Iterable[Deliverable]) -> Iterator[OutgoingMessage]:
        """Make messages, each with its place in the ledger."""
        for event in events:
            if isinstance(event, Withheld):
                self.record.ledger.withhold(event)
            else:
                yield self._builder.pack(event, self.record.ledger.expect(event))

    def _as_text(self, item: OutgoingMessage) -> list[OutgoingMessage]:
        """Return the messages of a table or a block that is not sent as a file."""
        parts = self._builder.as_text(item)
        if item.table is not None:
            self.record.split(item, len(parts))
        return parts

    # -- the end ----------------------------------------------------------------------------------

    def close(self, *, response_ends: bool) -> None:
        """Note that nothing more will be added."""
        self._response_ends = response_ends
        self.queue.close()

    def halt(self) -> None:
        """Stop sending. No further message is sent."""
        self._held_as_last = bool(self.queue.items) and not self.queue.ready(self._least_waiting)
        self._response.indicator.rest()
        self._waits.halt()
        self.queue.close()

    def drop(
        self, reason: str, events: Iterable[Deliverable] = (), cut: Iterable[Withheld] = ()
    ) -> None:
        """Discard the waiting messages and the engine's last ones, with this reason.

        `cut` is text that the engine held when the stream was cut.
        """
        if self._overrun is not None:
            self._overrun.drop(reason)
        for item in self.queue.clear():
            self.record.note_lost([item], self._fate_of(item.text, reason))
        if self._config.suppress_text_output:
            self.add(events)
        else:
            for event in events:
                self._drop_event(event, reason)
        for withheld in cut:
            self.record.drop_cut(withheld, self._fate_of(withheld.text, reason))

    def _drop_event(self, event: Deliverable, reason: str) -> None:
        if isinstance(event, Withheld):
            self.record.ledger.withhold(event)
        else:
            text = event.source if isinstance(event, Table) else event.text
            self.record.drop(event, self._fate_of(text, reason))

    def _fate_of(self, text: str, reason: str) -> str:
        """Return the fate of dropped text. Live mode may have shown its beginning."""
        is_doubted = self._live is not None and self._live.may_be_there(text)
        return "uncertain" if is_doubted else reason

    async def correct(self) -> None:
        """Edit each message after a stop, so that it shows only the text that is kept."""
        if self._live is not None:
            await self._live.correct(at_once=True)

    async def show(self, embed: Embed) -> None:
        """Show a notice."""
        await show(embed, self._sender, self._response)

    async def close_with(self, events: Iterable[Deliverable]) -> None:
        """Send the one closing flush after a stop (spec 04 O1). Unsent text stays queued.

        A message that waited only because it might be the last one (`notify: last`) belongs to it.
        """
        if self._config.suppress_text_output:
            self.add(events)
            return
        self._is_closing = True
        waited = self.queue.clear()
        flushed = [part for item in self._pack(events) for part in self._as_text(item)]
        if self._held_as_last:
            flushed = [part for item in waited for part in self._as_text(item)] + flushed
            waited = []
        self.queue.extend([*waited, *flushed])
        if self._live is not None and self.queue.items:
            home = self._live.live.home_of(self.queue.items[0])
            if home is not None:
                await self._live.take(home, self.queue)
                return
        await self.correct()
        if not waited and not self._collects and not self._is_in_doubt:
            await self._flush(flushed)

    @property
    def _is_in_doubt(self) -> bool:
        """Return whether something may still arrive, so that nothing may overtake it."""
        return self.record.in_doubt or (self._live is not None and self._live.in_doubt)

    async def _flush(self, flushed: Sequence[OutgoingMessage]) -> None:
        if policy_of(self._config).delivery == "streaming":
            flushed = flushed[:1]
            self.queue.widen_head()
        for _ in flushed:
            waiting = len(self.queue.items)
            if not waiting or self._limit_reached() is not None:
                return  # those after a late one have been joined, or no more may be sent
            if await self._send(self.queue.take()) is not None:
                return
            if len(self.queue.items) == waiting:
                return  # it came back: it has not left in time

    # -- the loop ---------------------------------------------------------------------------------

    async def run(self) -> Broken | None:
        """Send messages as they come. Return why delivery cannot continue, or None at the end."""
        while True:
            if self._growth is not None:
                broken = await self._growth.run(self._is_ready_or_halted)
                if broken is not None:
                    return broken
            item = await self.queue.head(self._least_waiting)
            if item is None or self._waits.halted:
                break
            broken = await self._step(item)
            if broken is not None:
                return broken
            has_waited = self._pace is not None and self._pace.has_waited
            if not has_waited and self.queue.items:
                # A sink that answers at once must not keep others, or a stop, waiting.
                await asyncio.sleep(0)
        if self._waits.halted:
            return None
        broken = None if self._live is None else await self._live.correct()
        if broken is None and self._overrun is not None:
            return await self._overrun.attach()
        return broken

    async def _step(self, item: OutgoingMessage) -> Broken | None:
        """Send the first waiting message, or decide what else happens to it."""
        if self._live is not None:
            is_settled, broken = await self._step_live(self._live, item)
            if is_settled:
                return broken
        limit = self._limit_reached()
        if limit is not None:
            return await self._meet(limit)
        files: tuple[File, ...] = ()
        if item.becomes_file:
            files = await self._builder.files(item)
            if not files and not self._waits.halted:
                self.queue.take()
                self.queue.put_back(self._as_text(item))
                return None
        if self._pace is not None:
            self._room.join()
            await self._pace.wait()
        await self._room.wait()
        if self._waits.halted or not self.queue.ready(self._least_waiting):
            return None
        is_silent = self._is_silent()
        return await self._send(self.queue.take(), is_silent, files)

    async def _step_live(
        self, live: LiveEdits, item: OutgoingMessage
    ) -> tuple[bool, Broken | None]:
        """Add it to the growing message. Return whether that settles it, and what failed."""
        home = live.live.home_of(item)
        if home is not None:
            in_time = await live.pace.wait(home)
            return True, await live.take(home, self.queue) if in_time else None
        broken = await live.correct()
        if broken is not None or self._waits.halted:
            return True, broken
        if live.may_be_there(item.text):
            self.record.note_lost([self.queue.take()], "uncertain")
            return True, None
        return False, None

    async def _send(
        self, item: OutgoingMessage, is_silent: bool = False, files: tuple[File, ...] = ()
    ) -> Broken | None:
        item.attempted = True
        began = self._waits.now()
        outcome, post = await self._poster.send(item, silent=is_silent, files=files)
        if files and refuses_pictures(outcome):
            # Perhaps only pictures are unwelcome here; if it is more than that, the text will show
            # it.
            self.queue.put_back(self._as_text(item))
            return None
        if self._live is not None:
            self._live.live.last = None
            if isinstance(outcome, Delivered) and not files:
                self._live.began(outcome.sent, post, item.identity, began)
        broken = self.record.settle([item], outcome)
        seconds = self._waits.now() - began
        if self._pace is not None:
            self._pace.request_seconds = seconds
        if seconds > BLOCKED_SECONDS:
            self._room.join_all()
        return broken

    # -- limits and notifications -----------------------------------------------------------------

    def _limit_reached(self) -> Limit | None:
        """Return the limit that forbids one more message of the response, or None (spec 07)."""
        most, sent = self._config.send_message_limit, self._response.sent
        if most and sent >= most:
            return "send_message_limit"
        return "flush_limit" if sent >= self._config.text.max_flush_count else None

    def _meet(self, limit: Limit) -> Coroutine[Any, Any, Broken | None]:
        if self._overrun is None:
            self._overrun = LimitOverrun(self._config, self._response, self._sender, self.record)
        return self._overrun.meet(limit, self.queue)

    @property
    def _collects(self) -> bool:
        return self._overrun is not None and self._overrun.collects

    def _is_silent(self) -> bool:
        """Return whether the next message is sent without a notification (`notify`, spec 07)."""
        match self._config.notify:
            case "first":
                return self._response.sent > 0
            case "last":
                ends = self._response_ends and len(self.queue.items) == 1
                return not (ends or self._is_last_allowed())
        return False

    def _is_last_allowed(self) -> bool:
        """Return whether the next message is the last one that the limits allow."""
        limits = (self._config.send_message_limit, self._config.text.max_flush_count)
        return any(0 < limit <= self._response.sent + 1 for limit in limits)

    def _may_send(self) -> bool:
        return self._is_closing or not self._waits.halted

    # -- what others ask --------------------------------------------------------------------------

    def _ends_with_this(self) -> bool:
        """Return whether the message that is being sent ends the answer."""
        return self._response_ends and not self.queue.items

    def _next_edit_at(self) -> float | None:
        if self._live is None:
            return None
        return self._live.next_at(is_text_waiting=bool(self.queue.items))

    def _may_begin(self) -> bool:
        """Return whether a message may be begun for unfinished text."""
        if self._collects or self._limit_reached() is not None:
            return False
        return self._room.for_unfinished_text()

    def _is_ready_or_halted(self) -> bool:
        return self.queue.ready(self._least_waiting) or self._waits.halted
