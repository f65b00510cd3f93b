"""How sending a message can end, and how each of Discord's codes is handled."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from oshaberi.delivery.sink import DiscordRefusalError, Sent

Limit = Literal["send_message_limit", "flush_limit"]
TOKEN_REVOKED = 401
"""Our own code: Discord sends none with this status."""


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
    """How `exactly_once` handles a refused message or edit."""

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


def refuses_pictures(outcome: Outcome) -> bool:
    """Return whether perhaps only the pictures of a message are unwelcome."""
    if isinstance(outcome, Unavailable):
        return not outcome.uncertain and outcome.error.code != TOKEN_REVOKED
    return isinstance(outcome, Refused)
