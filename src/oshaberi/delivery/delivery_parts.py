"""What a delivery is made of: queue, pace, sender, live edits and books, wired together."""

from __future__ import annotations

from collections.abc import Callable

from oshaberi.delivery.bookkeeping.character_ledger import Ledger
from oshaberi.delivery.bookkeeping.delivery_record import DeliveryRecord
from oshaberi.delivery.bucket_waits import BucketWaits
from oshaberi.delivery.delivery_plug_ins import DeliveryPlugIns
from oshaberi.delivery.live.edit_pace import EditPace
from oshaberi.delivery.live.live_edits import LiveEdits
from oshaberi.delivery.notify_policy import NotifyPolicy
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.exactly_once import ExactlyOnceSender
from oshaberi.delivery.posting.message_edits import MessageEdits
from oshaberi.delivery.posting.message_limit_overrun import LimitOverrun
from oshaberi.delivery.posting.message_poster import MessagePoster
from oshaberi.delivery.posting.outcome_handling import OutcomeHandler
from oshaberi.delivery.queue.message_limits import MessageLimits
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.delivery.queue.outgoing_builder import OutgoingBuilder
from oshaberi.delivery.queue.table_attachments import TableRenderer
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.delivery.typing_waits import TypingWaits


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
