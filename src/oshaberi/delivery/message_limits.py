"""Handles text beyond the limit on a response's messages: it is withheld, or sent as one file."""

from __future__ import annotations

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.ledger import DeliveryRecord
from oshaberi.delivery.notices import flush_limit_notice, show
from oshaberi.delivery.outcomes import Broken, Delivered, Limit
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import File, Post

MOST_CHARACTERS = 25_000
FILE_NAME = "rest.md"


class OverflowFile:
    """Collects the text beyond `max_flush_count` messages, to be attached as one file."""

    def __init__(self) -> None:
        self.items: list[OutgoingMessage] = []
        self._characters = 0

    def accepts(self, item: OutgoingMessage) -> bool:
        return self._characters + len(item.history) <= MOST_CHARACTERS

    def add(self, item: OutgoingMessage) -> None:
        self.items.append(item)
        self._characters += len(item.history)

    @property
    def text(self) -> str:
        return "\n".join(_markdown(item) for item in self.items)

    def as_file(self) -> File:
        return File(FILE_NAME, f"{self.text}\n".encode(), source=self.text)


def _markdown(item: OutgoingMessage) -> str:
    return item.text if item.table is None else item.table.source


class LimitOverrun:
    """Handles text beyond the limit as `on_limit` says (spec 07): stops, or collects a file."""

    def __init__(
        self,
        config: StreamConfig,
        response: ResponseState,
        sender: ExactlyOnceSender,
        record: DeliveryRecord,
    ) -> None:
        self._config = config
        self._response = response
        self._sender = sender
        self._record = record
        self._rest: OverflowFile | None = None

    @property
    def collects(self) -> bool:
        return self._rest is not None

    async def meet(self, limit: Limit, queue: MessageQueue) -> Broken | None:
        """Handle the first waiting message, which is over the limit."""
        if limit == "flush_limit" and self._config.on_limit == "file":
            self._rest = self._rest or OverflowFile()
            if self._rest.accepts(queue.items[0]):
                self._rest.add(queue.take())
                return None
            return await self.attach() or Broken(limit)
        if limit == "flush_limit":
            await self._notify(attached=False)
        return Broken(limit)

    async def attach(self) -> Broken | None:
        """Send the collected text as one file, at the end."""
        rest, self._rest = self._rest, None
        if rest is None or not rest.items:
            return None
        await self._notify(attached=True)
        post = Post(self._response.nonce(), files=(rest.as_file(),))
        outcome = await self._sender.deliver(post)
        if isinstance(outcome, Delivered):
            self._record.note_post(outcome.sent)
            self._response.note_attached(rest.text)
        return self._record.settle(rest.items, outcome)

    def drop(self, reason: str) -> None:
        """Discard the collected text."""
        if self._rest is not None:
            self._record.note_lost(self._rest.items, reason)
            self._rest = None

    async def _notify(self, *, attached: bool) -> None:
        """Show the notice, once per response."""
        if self._response.take_limit_notice():
            count = self._config.text.max_flush_count
            notice = flush_limit_notice(count, attached=attached)
            await show(notice, self._sender, self._response)
