"""How sending a message can end: limits, outcomes, and what each of Discord's codes means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import AmbiguousError, DiscordRefusalError, Post, Sent, SinkAwayError
from oshaberi.delivery.waits import InterruptibleWaits

# Limits the number of messages of a response (spec 07, limits).


Limit = Literal["send_message_limit", "flush_limit"]


class MessageLimits:
    """Compares the limits with what the whole response has sent so far."""

    def __init__(self, config: StreamConfig, response: ResponseState) -> None:
        self._sends = config.send_message_limit
        self._flushes = config.text.max_flush_count
        self._response = response

    def reached(self) -> Limit | None:
        """Return the limit that forbids one more message, or None.

        `send_message_limit` 0 means no limit.
        """
        if self._sends and self._response.sent >= self._sends:
            return "send_message_limit"
        return "flush_limit" if self._response.sent >= self._flushes else None

    def leave_one(self) -> bool:
        """Return whether the next message is the last one allowed."""
        limits = (self._sends, self._flushes)
        return any(0 < limit <= self._response.sent + 1 for limit in limits)


# The ways in which sending one message can end.


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


# How often and how long a message is tried again when its outcome is unknown (spec 07).


PATIENCE_SECONDS = 90.0
"""How long after the first attempt a message is given up."""
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)
AWAY_SECONDS = 2.0
"""How often a message that waits for Discord's return looks whether it is back."""

DOUBTS = (AmbiguousError, OSError, TimeoutError)
"""Errors after which nobody knows what became of the request."""


@dataclass(slots=True)
class SendAttempts:
    """One message and its attempts."""

    post: Post
    first_at: float
    retries: int = 0
    doubted: bool = False
    """An attempt may have arrived."""
    must_look: bool = False
    """Look for an earlier attempt first: it is too old for its nonce to prevent a second one."""
    webhook_renewed: bool = False
    returned_at: float | None = None
    """When Discord was last known to be away. From then on its patience counts anew."""

    @property
    def patient_since(self) -> float:
        return self.first_at if self.returned_at is None else self.returned_at

    @property
    def given_up_at(self) -> float:
        return self.patient_since + PATIENCE_SECONDS

    async def wait_for_return(self, waits: InterruptibleWaits, away: SinkAwayError) -> bool | None:
        """Wait a while. Return whether to go on waiting; None if a stop ended the wait.

        A notice is waited for as long as it takes: somebody has to be told.
        """
        began = waits.now()
        is_late = began + AWAY_SECONDS > self.first_at + away.patience_s
        if is_late and self.post.embed is None:
            return False
        is_open = await waits.hold(AWAY_SECONDS)
        self.returned_at = waits.now()
        has_nonce = self.post.face is None and waits.now() - self.first_at < PATIENCE_SECONDS
        self.must_look = self.doubted and not has_nonce
        return True if is_open else None

    def next_delay(self) -> float:
        delay = RETRY_SECONDS[min(self.retries, len(RETRY_SECONDS) - 1)]
        self.retries += 1
        return delay


# Maps Discord's error codes to what is done about a refused message (spec 07, recovery).
#
# `exactly_once` does it for messages, `posting` for edits.


class RefusalRecovery(Enum):
    NEW_WEBHOOK = "the webhook is gone: make another"
    UNAVAILABLE = "the channel cannot be written to any more"
    PLAIN = "what it answers is gone: send it without the reply"
    WAIT = "too early: wait and send it again"
    LEAVE_OUT = "this one message is refused: it stays undelivered"


TOKEN_REVOKED = 401
"""Not a code of Discord's, which gives none with this status."""

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
