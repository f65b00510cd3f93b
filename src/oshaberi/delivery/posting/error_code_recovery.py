"""Maps Discord's error codes to what is done about a refused message (spec 07, recovery).

`exactly_once` does it for messages, `message_edits` for edits.
"""

from __future__ import annotations

from enum import Enum


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
