"""Records what became of each message of one stream: counts, history, ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from oshaberi.delivery.ledger import DELIVERED, SUPPRESSED, Ledger
from oshaberi.delivery.queue import OutgoingMessage
from oshaberi.delivery.response import ResponseState, SentSprite
from oshaberi.delivery.sink import Sent
from oshaberi.delivery.waits import Clock
from oshaberi.events import Message, Table
from oshaberi.text.config import Persona


class DeliveryRecord:
    """The deliverer's record of one stream. `on_sent` is called after every success."""

    def __init__(
        self,
        response: ResponseState,
        ledger: Ledger,
        persona: Persona | None,
        on_sent: Callable[[], None],
        now: Clock,
    ) -> None:
        self.history: list[str] = []
        self.sent = 0
        self.visible = 0
        """Messages whose text can be read now, be it in a message of its own or not."""
        self.first_at: float | None = None
        self.longest_wait = 0.0
        self._response = response
        self._ledger = ledger
        self._persona = persona
        self._on_sent = on_sent
        self._now = now

    def posted(self, sent: Sent) -> None:
        """Note a new message in the channel."""
        response, now = self._response, self._now()
        self.sent += 1
        response.sent += 1
        response.last_sent_at = now
        if response.first_sent_at is None:
            response.first_sent_at = now
        response.messages.append(sent)
        if response.first_url is None:
            response.first_url = sent.url
        if self.first_at is None:
            self.first_at = now
        self._on_sent()

    def taken_away(self, sent: Sent) -> None:
        """Note that a message was deleted because none of its text was kept."""
        response = self._response
        self.sent -= 1
        response.sent -= 1
        response.messages.remove(sent)
        if response.first_url == sent.url:
            response.first_url = None

    def delivered(self, items: Iterable[OutgoingMessage], sent: Sent) -> None:
        """Note that these texts are in that message."""
        now = self._now()
        for item in items:
            self.visible += 1
            self.longest_wait = max(self.longest_wait, now - item.ready_at)
            for entry in item.entries:
                self._ledger.settle(entry, DELIVERED, sent.id)
            if item.history and all(map(self._ledger.is_delivered, item.entries)):
                self.history.append(item.history)
            self._remember_sprite(item, sent)

    def grown(self, items: Iterable[OutgoingMessage], sent: Sent) -> None:
        """Note that an edit put these texts into an existing message."""
        self._response.last_sent_at = self._now()
        self.delivered(items, sent)
        self._on_sent()

    def lost(self, items: Iterable[OutgoingMessage], reason: str) -> None:
        for item in items:
            for entry in item.entries:
                self._ledger.settle(entry, reason)

    def forgone(self, events: Iterable[Message | Table], reason: str) -> None:
        """Note text that came too late to be packed."""
        for event in events:
            self._ledger.settle(self._ledger.expect(event), reason)

    def collected(self, item: OutgoingMessage) -> None:
        """Note text that only goes into the model's history (spec 04 O7)."""
        self.visible += 1
        self.history.append(item.history)
        for entry in item.entries:
            self._ledger.settle(entry, SUPPRESSED)

    def _remember_sprite(self, item: OutgoingMessage, sent: Sent) -> None:
        identity, persona = item.identity, self._persona
        if identity is None or persona is None or sent.via != "webhook" or sent.id is None:
            return
        if identity.kind == "sprite" and identity.sprite is not None:
            self._response.sprites.append(SentSprite(sent.id, persona.name, identity.sprite))
