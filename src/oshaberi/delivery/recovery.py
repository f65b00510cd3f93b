"""What each of Discord's codes means for a message that was refused (spec 07, recovery)."""

from __future__ import annotations

from enum import Enum


class Recovery(Enum):
    NEW_WEBHOOK = "the webhook is gone: make another"
    UNAVAILABLE = "the channel cannot be written to any more"
    PLAIN = "what it answers is gone: send it without the reply"
    WAIT = "too early: wait and send it again"
    WITHHOLD = "this one message is refused"


TOKEN_REVOKED = 401
"""Not a code of Discord's, which gives none with this status."""

RECOVERIES = {
    10015: Recovery.NEW_WEBHOOK,
    50027: Recovery.NEW_WEBHOOK,
    10003: Recovery.UNAVAILABLE,
    50001: Recovery.UNAVAILABLE,
    50013: Recovery.UNAVAILABLE,
    50007: Recovery.UNAVAILABLE,
    50278: Recovery.UNAVAILABLE,
    TOKEN_REVOKED: Recovery.UNAVAILABLE,
    10008: Recovery.PLAIN,
    160002: Recovery.PLAIN,
    20016: Recovery.WAIT,
    20028: Recovery.WAIT,
    429: Recovery.WAIT,
    200000: Recovery.WITHHOLD,
    240000: Recovery.WITHHOLD,
    40005: Recovery.WITHHOLD,
    50035: Recovery.WITHHOLD,
}


def recovery_of(code: int) -> Recovery:
    """An unknown code is a definite no to this message, and says nothing about the next."""
    return RECOVERIES.get(code, Recovery.WITHHOLD)
