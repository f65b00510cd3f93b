"""Decides what follows from a send's outcome, for its text and for the waiting messages."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import assert_never

from oshaberi.delivery.bookkeeping.delivery_record import DeliveryRecord
from oshaberi.delivery.outgoing_message import OutgoingMessage
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.error_code_recovery import TOKEN_REVOKED
from oshaberi.delivery.posting.send_outcome import (
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
from oshaberi.delivery.queue.message_queue import MessageQueue

log = logging.getLogger(__name__)

MOST_FAILURES = 3


class OutcomeHandler:
    """Handles outcomes and counts failures: three in a row end the delivery."""

    def __init__(
        self, delivery_record: DeliveryRecord, queue: MessageQueue, waits: InterruptibleWaits
    ) -> None:
        self.last_error: Exception | None = None
        self.in_doubt = False
        """At a stop: something may still arrive, so nothing may overtake it."""
        self._failures = 0
        self._delivery_record = delivery_record
        self._queue = queue
        self._waits = waits

    def settle(
        self,
        items: Sequence[OutgoingMessage],
        outcome: Outcome | EditOutcome,
        *,
        edited: bool = False,
    ) -> Broken | None:
        match outcome:
            case Delivered(sent):
                self._failures = 0
                note = self._delivery_record.grown if edited else self._delivery_record.delivered
                note(items, sent)
                return None
            case Refused(error):
                log.warning("a message was refused and stays undelivered: %s", error)
                self._delivery_record.lost(items, str(error.code))
                return self._failed(error)
            case Uncertain(error=doubt):
                log.warning("nobody can say whether a message arrived: %s", _words(doubt))
                self._delivery_record.lost(items, "uncertain")
                self.in_doubt = self._waits.halted
                return self._failed(doubt)
            case Failed(error=failure, uncertain=uncertain):
                log.warning("the answer could not be delivered: %s", _words(failure))
                self._delivery_record.lost(items, "uncertain" if uncertain else "error")
                return Broken("error", failure)
            case Unavailable(error, uncertain):
                log.error("the channel cannot be written to: %s", error)
                if uncertain:
                    self._delivery_record.lost(items, "uncertain")
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


def refuses_pictures(outcome: Outcome) -> bool:
    """Tell whether perhaps only the pictures of a message are not wanted."""
    if isinstance(outcome, Unavailable):
        return not outcome.uncertain and outcome.error.code != TOKEN_REVOKED
    return isinstance(outcome, Refused)


def _words(error: Exception) -> str:
    """Return the error's text. A timeout has none, so its `repr` is used."""
    return str(error) or repr(error)
