"""Explains in one log line why a turn ended without its text, or without part of it."""

from __future__ import annotations

from collections import Counter

from oshaberi.chunks import ProviderError
from oshaberi.delivery.bookkeeping.character_ledger import DELIVERED, SUPPRESSED
from oshaberi.secret_redaction import redact
from oshaberi.stream.stream_result import StreamResult
from oshaberi.turns.turn_outcome import TurnOutcome

MOST_LOGGED = 500
_FAILED = ("error", "timeout", "empty_response")
_WANTED = ("send_message_limit", "flush_limit", "speaker_guard")
"""Stops that the settings cause."""


def missing_text_reason(outcome: TurnOutcome, last: StreamResult) -> str | None:
    """Return why text is missing; None if it is complete or was stopped on purpose."""
    if outcome.interrupted or outcome.stop_reason in _WANTED:
        return None
    if outcome.status in _FAILED:
        return f"{outcome.status}{_words(last)}"
    if outcome.status == "stopped_by_user":
        return str(outcome.stop_reason)
    lost = lost_text(outcome)
    return f"{outcome.status}, {lost}" if lost else None


def _words(last: StreamResult) -> str:
    data = last.data
    if isinstance(data, ProviderError):
        return (
            f": {redact(data.message, MOST_LOGGED)} ({data.type})"
            if data.message
            else f": {data.type}"
        )
    if isinstance(data, Exception):
        return f": {redact(str(data), MOST_LOGGED) or type(data).__name__}"
    return ""


def lost_text(outcome: TurnOutcome) -> str:
    """Count the lost messages by their reason in the ledger."""
    fates = Counter(
        entry.fate
        for result in outcome.results
        for entry in result.ledger.entries
        if entry.expected and entry.fate not in (DELIVERED, SUPPRESSED)
    )
    return ", ".join(f"{count} not delivered ({fate})" for fate, count in fates.items())
