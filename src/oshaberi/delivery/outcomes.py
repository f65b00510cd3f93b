"""How sending a message can end, what each of Discord's codes means, and what follows from it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, assert_never

from oshaberi.delivery.ledger import DeliveryRecord
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage
from oshaberi.delivery.sink import DiscordRefusalError, Sent
from oshaberi.delivery.waits import InterruptibleWaits

log = logging.getLogger(__name__)

Limit = Literal["send_message_limit", "flush_limit"]
MOST_FAILURES = 3
TOKEN_REVOKED = 401
"""Not a code of Discord's, which gives none with this status."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The message was sent, exactly once."""

    sent: Sent


@dataclass(frozen=True, slots=True)
class Refused:
    """Discord refused this message; others may be accepted."""

    error: DiscordRefusalError


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The channel can no longer be written to. `uncertain`: an earlier attempt may have arrived."""

    error: DiscordRefusalError
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Uncertain:
    """It is unknown whether the message arrived, so it is not sent again."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Failed:
    """The sink is broken. `uncertain`: the message may have arrived anyway."""

    error: Exception
    uncertain: bool


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A stop came before the message was sent."""


@dataclass(frozen=True, slots=True)
class NoWebhook:
    """The message needs a webhook, and there is none or it keeps failing.

    The message was certainly not sent.
    """


@dataclass(frozen=True, slots=True)
class Gone:
    """The message to be edited was deleted or is too old. Send a new one."""


Outcome = Delivered | Refused | Unavailable | Uncertain | Failed | Withdrawn | NoWebhook
EditOutcome = Delivered | Refused | Unavailable | Uncertain | Failed | Withdrawn | Gone


@dataclass(frozen=True, slots=True)
class Broken:
    """The reason why delivery cannot continue."""

    reason: Limit | Literal["channel_unavailable", "error"]
    error: Exception | None = None


class RefusalRecovery(Enum):
    """What is done about a refused message: by `exactly_once`, for messages and edits."""

    NEW_WEBHOOK = "the webhook is gone: make another"
    UNAVAILABLE = "the channel cannot be written to any more"
    PLAIN = "what it answers is gone: send it without the reply"
    WAIT = "too early: wait and send it again"
    LEAVE_OUT = "this one message is refused: it stays undelivered"


RECOVERIES = {
    10015: RefusalRecovery.NEW_WEBHOOK,
    50027: RefusalRecovery.NEW_WEBHOOK,
    10003: RefusalRecovery.UNAVAILABLE,
    50001: RefusalRecovery.UNAVAILABLE,
    50013: RefusalRecovery.UNAVAILABLE,
    50007: RefusalRecovery.UNAVAILABLE,
    50278: RefusalRecovery.UNAVAILABLE,
    TOKEN_REVOKED: RefusalRecovery.UNAVAILABLE,
    10008: RefusalRecovery.PLAIN,
    160002: RefusalRecovery.PLAIN,
    20016: RefusalRecovery.WAIT,
    20028: RefusalRecovery.WAIT,
    429: RefusalRecovery.WAIT,
    200000: RefusalRecovery.LEAVE_OUT,
    240000: RefusalRecovery.LEAVE_OUT,
    40005: RefusalRecovery.LEAVE_OUT,
    50035: RefusalRecovery.LEAVE_OUT,
}


def recovery_of(code: int) -> RefusalRecovery:
    """Return what to do about a code. An unknown one refuses this message only."""
    return RECOVERIES.get(code, RefusalRecovery.LEAVE_OUT)


class OutcomeHandler:
    """Handles outcomes and counts failures: three in a row end the delivery."""

    def __init__(
        self, record: DeliveryRecord, queue: MessageQueue, waits: InterruptibleWaits
    ) -> None:
        self.last_error: Exception | None = None
        self.in_doubt = False
        """At a stop: something may still arrive, so nothing may overtake it."""
        self._failures = 0
        self._record = record
        self._queue = queue
        self._waits = waits

    def settle(
        self,
        items: Sequence[OutgoingMessage],
        outcome: Outcome | EditOutcome,
        *,
        edited: bool = False,
    ) -> Broken | None:
        """Record what became of these texts. Return why delivery cannot continue, if it cannot."""
        match outcome:
            case Delivered(sent):
                self._failures = 0
                note = self._record.note_growth if edited else self._record.note_delivered
                note(items, sent)
                return None
            case Refused(error):
                log.warning("a message was refused and stays undelivered: %s", error)
                self._record.note_lost(items, str(error.code))
                return self._failed(error)
            case Uncertain(error=doubt):
                log.warning("nobody can say whether a message arrived: %s", _words(doubt))
                self._record.note_lost(items, "uncertain")
                self.in_doubt = self._waits.halted
                return self._failed(doubt)
            case Failed(error=failure, uncertain=uncertain):
                log.warning("the answer could not be delivered: %s", _words(failure))
                self._record.note_lost(items, "uncertain" if uncertain else "error")
                return Broken("error", failure)
            case Unavailable(error, uncertain):
                log.error("the channel cannot be written to: %s", error)
                if uncertain:
                    self._record.note_lost(items, "uncertain")
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
    """Return whether perhaps only the pictures of a message are not wanted."""
    if isinstance(outcome, Unavailable):
        return not outcome.uncertain and outcome.error.code != TOKEN_REVOKED
    return isinstance(outcome, Refused)


def _words(error: Exception) -> str:
    """Return the error's text. A timeout has none, so its `repr` is used."""
    return str(error) or repr(error)
