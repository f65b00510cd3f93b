"""Tells in one word why a job produced no answer, for *Why this turn*."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.stream.stops.stop_registry import StopRequest
from oshaberi.turns.admission.answer_reasons import Unsaid
from oshaberi.turns.post_turn.answer_log import lost_text
from oshaberi.turns.quotas.request_quota import QuotaReachedError
from oshaberi.turns.turn_outcome import TurnOutcome

LONGEST_NOTE = 200


def unsaid_reason(outcomes: Sequence[TurnOutcome]) -> Unsaid | None:
    """Return why no persona said anything; None if one did, or will after a restart."""
    if not outcomes or any(outcome.message_ids for outcome in outcomes):
        return None
    last = outcomes[-1]
    if last.interrupted:
        is_follow_up = last.status == "follow_up_interrupt"
        return None if last.is_unsaid else _ended_by(is_follow_up=is_follow_up)
    if last.is_silent:
        return "silent"
    if isinstance(last.failure, QuotaReachedError):
        return "used_up"
    if last.status == "completed" and not lost_text(last):
        return None  # the settings want no text (suppress_text_output)
    return "mute" if last.is_shut_out else "failed"


def unsaid_told(outcomes: Sequence[TurnOutcome]) -> str | None:
    """Return the same with what the model noted, as it is stored."""
    reason = unsaid_reason(outcomes)
    noted = outcomes[-1].silence_reason if reason == "silent" else ""
    return f"silent_because {_shortened(noted)}" if noted else reason


def _shortened(noted: str) -> str:
    return noted if len(noted) <= LONGEST_NOTE else f"{noted[: LONGEST_NOTE - 1].rstrip()}…"


def stop_reason(request: StopRequest) -> Unsaid | None:
    """Return the reason for a job that a stop ended before its turn began."""
    if request.reason == "system_request":
        return None
    return _ended_by(is_follow_up=request.follow_up)


def _ended_by(*, is_follow_up: bool) -> Unsaid:
    return "superseded" if is_follow_up else "stopped"
