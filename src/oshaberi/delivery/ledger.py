"""The books of a stream: what happened to each visible character, and to each message.

Each entry of the ledger gets exactly one fate: delivered with a message id, or not, with the
reason. `problems` says at the end of a stream what does not add up. Only the `DeliveryRecord` of
the stream writes into it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from oshaberi.delivery.outcomes import (
    Broken,
    Delivered,
    EditOutcome,
    Failed,
    Gone,
    NoWebhook,
    Outcome,
    Refused,
    Unavailable,
    Uncertain,
    Withdrawn,
)
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage
from oshaberi.delivery.response import ResponseState, SentSprite
from oshaberi.delivery.sink import Sent
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Message, Span, Table, Withheld
from oshaberi.text.config import Persona

Deliverable = Message | Table | Withheld
"""The engine's output for delivery: to be sent, or only to be accounted for."""

log = logging.getLogger(__name__)

MOST_FAILURES = 3
DELIVERED = "delivered"
SUPPRESSED = "suppressed"


class LedgerEntry:
    """A stretch of visible text. `fate` is `delivered`, the reason why not, or None if open."""

    __slots__ = ("end", "expected", "fate", "message_id", "segment", "start", "text")

    def __init__(
        self, text: str, segment: int, start: int, end: int, fate: str | None = None
    ) -> None:
        self.text = text
        self.segment = segment
        self.start = start
        self.end = end
        self.fate = fate
        self.message_id: int | None = None
        self.expected = True
        """Should have been sent, unlike text that the engine withheld."""

    @property
    def span(self) -> Span:
        """Where its segment is in the visible text. The garbage collector ignores two numbers."""
        return self.start, self.end


class Ledger:
    """Entries in the order of the text."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self._twice: list[int] = []
        self._parts: dict[int, list[str]] = {}
        self._split: dict[int, int] = {}

    def expect(self, event: Message | Table) -> int:
        """Enter text that is to be sent. Return the number of its entry."""
        text = event.source if isinstance(event, Table) else event.text
        start, end = event.span
        self.entries.append(LedgerEntry(text, event.segment, start, end))
        return len(self.entries) - 1

    def withhold(self, event: Withheld) -> None:
        """Enter text that the engine withheld."""
        self.drop(event)
        self.entries[-1].expected = False

    def drop(self, event: Withheld) -> None:
        """Enter text that would have been sent if the stream had not ended early."""
        start, end = event.span
        self.entries.append(LedgerEntry(event.text, event.segment, start, end, event.reason))

    def split(self, number: int, parts: int) -> None:
        """Note that an entry is sent in `parts` messages. It is delivered only if all are."""
        self._split[number] = parts
        self._parts[number] = []

    def settle(self, number: int, fate: str, message_id: int | None = None) -> None:
        fates = self._parts.get(number)
        if fates is not None:
            fates.append(fate)
            if len(fates) < self._split[number]:
                return
            fate = next((f for f in fates if f != DELIVERED), DELIVERED)
        entry = self.entries[number]
        if entry.fate is not None:
            self._twice.append(number)
        entry.fate, entry.message_id = fate, message_id

    def is_delivered(self, number: int) -> bool:
        return self.entries[number].fate == DELIVERED

    def settle_open(self, fate: str) -> None:
        """Give all open entries this fate, after an internal error."""
        for entry in self.entries:
            if entry.fate is None:
                entry.fate = fate

    @property
    def expected(self) -> int:
        """Return how many texts were to be sent."""
        return sum(entry.expected for entry in self.entries)

    @property
    def undelivered(self) -> str:
        """Return the text that was to be sent and was not, in order."""
        lost = (
            e.text for e in self.entries if e.expected and e.fate not in (DELIVERED, SUPPRESSED)
        )
        return "\n".join(lost)

    def sums(self) -> dict[str, int]:
        """Count the characters by fate."""
        sums: Counter[str] = Counter()
        for entry in self.entries:
            sums[entry.fate or "open"] += len(entry.text)
        return dict(sums)

    def problems(self) -> list[str]:
        """List the inconsistencies; empty if there are none."""
        open_ = [f"no fate: {e.text!r}" for e in self.entries if e.fate is None]
        twice = [f"two fates: {self.entries[n].text!r}" for n in self._twice]
        return [*open_, *twice, *self._disorder()]

    def _disorder(self) -> list[str]:
        """List segments that do not begin where the previous one ended."""
        spans = {entry.segment: entry.span for entry in self.entries if entry.segment}
        wrong, end = [], 0
        for segment in sorted(spans):
            start, stop = spans[segment]
            if start != end:
                wrong.append(f"segment {segment} begins at {start}, not at {end}")
            end = stop
        return wrong


class DeliveryRecord:
    """What one stream has delivered so far. `on_sent` is called after every success.

    `settle` records how a message ended; three failures in a row end the delivery.
    """

    def __init__(
        self,
        response: ResponseState,
        persona: Persona | None,
        queue: MessageQueue,
        waits: InterruptibleWaits,
        on_sent: Callable[[], None],
    ) -> None:
        self.ledger = Ledger()
        self.history: list[str] = []
        self.sent = 0
        self.visible = 0
        """Messages whose text can be read now, be it in a message of its own or not."""
        self.first_at: float | None = None
        self.longest_wait = 0.0
        self.last_error: Exception | None = None
        self.in_doubt = False
        """At a stop: something may still arrive, so nothing may overtake it."""
        self._failures = 0
        self._response = response
        self._persona = persona
        self._queue = queue
        self._waits = waits
        self._on_sent = on_sent
        self._now = waits.now

    def settle(
        self,
        items: Sequence[OutgoingMessage],
        outcome: Outcome | EditOutcome,
        *,
        edited: bool = False,
    ) -> Broken | None:
        """Record what happened to these texts.

        Return why delivery cannot continue, if it cannot.
        """
        match outcome:
            case Delivered(sent):
                self._failures = 0
                note = self.note_growth if edited else self.note_delivered
                note(items, sent)
                return None
            case Refused(error):
                log.warning("a message was refused and stays undelivered: %s", error)
                self.note_lost(items, str(error.code))
                return self._failed(error)
            case Uncertain(error=doubt):
                log.warning("nobody can say whether a message arrived: %s", _words(doubt))
                self.note_lost(items, "uncertain")
                self.in_doubt = self._waits.halted
                return self._failed(doubt)
            case Failed(error=failure, uncertain=uncertain):
                log.warning("the answer could not be delivered: %s", _words(failure))
                self.note_lost(items, "uncertain" if uncertain else "error")
                return Broken("error", failure)
            case Unavailable(error, uncertain):
                log.error("the channel cannot be written to: %s", error)
                if uncertain:
                    self.note_lost(items, "uncertain")
                else:
                    self._queue.put_back(items)
                return Broken("channel_unavailable", error)
            case Withdrawn() | NoWebhook() | Gone():
                self._queue.put_back(items)
                return None
            case _:
                assert_never(outcome)

    def _failed(self, error: Exception) -> Broken | None:
        self.last_error = error
        self._failures += 1
        return Broken("error", error) if self._failures >= MOST_FAILURES else None

    def note_post(self, sent: Sent) -> None:
        """Note a new message in the channel."""
        now = self._now()
        self.sent += 1
        self._response.note_sent(sent, now)
        if self.first_at is None:
            self.first_at = now
        self._on_sent()

    def note_deleted(self, sent: Sent) -> None:
        """Note that a message was deleted because none of its text was kept."""
        self.sent -= 1
        self._response.note_deleted(sent)

    def note_delivered(self, items: Iterable[OutgoingMessage], sent: Sent) -> None:
        """Note that these texts are in that message."""
        now = self._now()
        for item in items:
            self.visible += 1
            self.longest_wait = max(self.longest_wait, now - item.ready_at)
            for entry in item.entries:
                self.ledger.settle(entry, DELIVERED, sent.id)
            if item.history and all(map(self.ledger.is_delivered, item.entries)):
                self.history.append(item.history)
            self._remember_sprite(item, sent)

    def note_growth(self, items: Iterable[OutgoingMessage], sent: Sent) -> None:
        """Note that an edit put these texts into an existing message."""
        self._response.note_edit(self._now())
        self.note_delivered(items, sent)
        self._on_sent()

    def note_lost(self, items: Iterable[OutgoingMessage], reason: str) -> None:
        """Note that these texts are not delivered, and why."""
        for item in items:
            for entry in item.entries:
                self.ledger.settle(entry, reason)

    def split(self, item: OutgoingMessage, parts: int) -> None:
        """Note that a message is sent in `parts` parts."""
        for entry in item.entries:
            self.ledger.split(entry, parts)

    def drop(self, event: Message | Table, reason: str) -> None:
        """Note text that came too late to be queued."""
        self.ledger.settle(self.ledger.expect(event), reason)

    def drop_cut(self, event: Withheld, reason: str) -> None:
        """Note text that the engine held when the stream was cut."""
        self.ledger.drop(replace(event, reason=reason))

    def note_suppressed(self, item: OutgoingMessage) -> None:
        """Note text that only goes into the model's history (spec 04 O7)."""
        self.visible += 1
        self.history.append(item.history)
        for entry in item.entries:
            self.ledger.settle(entry, SUPPRESSED)

    def _remember_sprite(self, item: OutgoingMessage, sent: Sent) -> None:
        identity, persona = item.identity, self._persona
        if identity is None or persona is None or sent.via != "webhook" or sent.id is None:
            return
        if identity.kind == "sprite" and identity.sprite is not None:
            self._response.note_sprite(SentSprite(sent.id, persona.name, identity.sprite))


def _words(error: Exception) -> str:
    """Return the error's text. A timeout has none, so its `repr` is used."""
    return str(error) or repr(error)
