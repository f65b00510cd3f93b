"""Handles text beyond the message limit: a notice, and perhaps the rest as a file."""

from __future__ import annotations

from oshaberi.delivery.bookkeeping.delivery_record import DeliveryRecord
from oshaberi.delivery.posting.exactly_once import ExactlyOnceSender
from oshaberi.delivery.posting.outcome_handling import OutcomeHandler
from oshaberi.delivery.posting.overflow_file import OverflowFile
from oshaberi.delivery.posting.send_outcome import Broken, Delivered
from oshaberi.delivery.posting.stream_notices import flush_limit_notice, show
from oshaberi.delivery.queue.message_limits import Limit
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import Post
from oshaberi.delivery.stream_config import StreamConfig


class LimitOverrun:
    """Applies `on_limit` (spec 07): stops, or collects text for the file."""

    def __init__(
        self,
        config: StreamConfig,
        response: ResponseState,
        sender: ExactlyOnceSender,
        delivery_record: DeliveryRecord,
        outcomes: OutcomeHandler,
    ) -> None:
        self._config = config
        self._response = response
        self._sender = sender
        self._delivery_record = delivery_record
        self._outcomes = outcomes
        self._rest: OverflowFile | None = None

    @property
    def collects(self) -> bool:
        return self._rest is not None

    async def meet(self, limit: Limit, queue: MessageQueue) -> Broken | None:
        """Handle the first waiting message, which is over the limit."""
        if limit == "flush_limit" and self._config.on_limit == "file":
            self._rest = self._rest or OverflowFile()
            if self._rest.accepts(next(iter(queue))):
                self._rest.add(queue.take())
                return None
            return await self.attach() or Broken(limit)
        if limit == "flush_limit":
            await self._tell(attached=False)
        return Broken(limit)

    async def attach(self) -> Broken | None:
        """Send the collected text as one file, at the end."""
        rest, self._rest = self._rest, None
        if rest is None or not rest.items:
            return None
        await self._tell(attached=True)
        nonce = self._response.nonce(self._response.next_number())
        outcome = await self._sender.deliver(Post(nonce, files=(rest.as_file(),)))
        if isinstance(outcome, Delivered):
            self._delivery_record.posted(outcome.sent)
            self._response.attached = rest.text
        return self._outcomes.settle(rest.items, outcome)

    def drop(self, reason: str) -> None:
        """Discard the collected text."""
        if self._rest is not None:
            self._delivery_record.lost(self._rest.items, reason)
            self._rest = None

    async def _tell(self, *, attached: bool) -> None:
        """Show the notice, once per response."""
        if not self._response.limit_shown:
            self._response.limit_shown = True
            count = self._config.text.max_flush_count
            notice = flush_limit_notice(count, attached=attached)
            await show(notice, self._sender, self._response)
