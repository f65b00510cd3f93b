"""How a turn ended: all its streams together, how long somebody waited, and what the log says.

If nothing was said, or text is missing, the reason is here.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oshaberi.bot.turns.admission.rules import Unsaid
from oshaberi.bot.turns.quotas import QuotaReachedError
from oshaberi.bot.turns.services.model_access import ModelName
from oshaberi.bot.turns.services.turn_services import AnswerTimes
from oshaberi.chunks import ProviderError
from oshaberi.delivery.ledger import DELIVERED, SUPPRESSED
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Sent
from oshaberi.secret_redaction import redact
from oshaberi.stream.result import Status, StopReason, StreamResult
from oshaberi.stream.stops import StopRequest


def answer_times(asked_s: float | None, response: ResponseState) -> AnswerTimes:
    """Return the waits of a response to a question that was asked at `asked_s` (loop time)."""

    def since(at_s: float | None) -> float | None:
        return None if at_s is None or asked_s is None else max(0.0, at_s - asked_s)

    return AnswerTimes(
        since(response.first_token_at),
        since(response.first_sent_at),
        tuple(wait.left_at - wait.wanted_at for wait in response.limit_waits),
    )


_BY_HAND = ("user_request", "system_request")


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    status: Status
    stop_reason: StopReason | None = None
    text: str = ""
    """The text that readers see, with labels, and with tables as their sources."""
    details: str = ""
    undelivered: str = ""
    """The text that `/continue` sends as it is."""
    message_ids: tuple[int, ...] = ()
    notice_ids: tuple[int, ...] = ()
    """Messages around the answer: reply notices, and notices of failures."""
    is_silent: bool = False
    """The model chose to say nothing, and nothing was sent."""
    silence_reason: str = ""
    """Why, if the model said so."""
    unsaid: str | None = None
    """Why nothing was said, as it is stored; None if something was."""
    missing_text: str | None = None
    """Why text of the answer is missing; None if it is complete or was stopped on purpose."""
    failure: object = None
    """The failure, if the turn failed."""
    results: tuple[StreamResult, ...] = field(default=(), repr=False)
    interrupted: bool = False
    """Whether a user stopped or interrupted the turn, or a shutdown did."""
    is_unsaid: bool = False
    """Whether the process ended before anything was sent. The turn can start again."""
    is_cut_by_restart: bool = False
    """Whether the process ended in the middle of the answer."""
    is_shut_out: bool = False
    """Whether Discord accepted nothing in the channel, not even a notice."""

    @property
    def succeeded(self) -> bool:
        return self.status in ("completed", "stopped_by_user")


def outcome_of(
    last: StreamResult,
    results: Sequence[StreamResult],
    response: ResponseState,
) -> TurnOutcome:
    """Return the outcome of a turn whose streams had these results; `last` is how it ended."""
    message_ids, notice_ids = _ids(response.messages), _ids(response.notices)
    ended_by_hand = last.status == "stopped_by_user" and last.stop_reason in _BY_HAND
    shut_out = last.stop_reason == "channel_unavailable"
    return TurnOutcome(
        status=last.status,
        stop_reason=last.stop_reason,
        text=_joined(result.accumulated_text for result in results),
        details=_joined(text for result in results for text in result.details),
        undelivered=_joined([*(r.resendable for r in results), response.attached]),
        message_ids=message_ids,
        notice_ids=notice_ids,
        is_silent=_is_silent(last, response),
        silence_reason=response.silence_reason,
        failure=last.data if last.status == "error" else None,
        results=tuple(results),
        interrupted=ended_by_hand or last.status in ("follow_up_interrupt", "interrupted"),
        is_unsaid=last.stop_reason == "system_request" and not message_ids,
        is_cut_by_restart=last.status == "interrupted" and bool(message_ids),
        is_shut_out=shut_out and not (message_ids or notice_ids),
    )


def has_succeeded(outcomes: Sequence[TurnOutcome]) -> bool | None:
    """Return whether all personas that were asked have answered; None if somebody stopped them."""
    if any(outcome.interrupted for outcome in outcomes):
        return None
    return bool(outcomes) and all(outcome.succeeded for outcome in outcomes)


def _is_silent(last: StreamResult, response: ResponseState) -> bool:
    return last.status == "completed" and response.chose_silence and not response.messages


def _ids(messages: Iterable[Sent]) -> tuple[int, ...]:
    return tuple(sent.id for sent in messages if sent.id is not None)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text.strip())


# The one log line of an answer: its model, tokens, times, messages, and why text is missing. The
# ids of server, channel, user and turn are on it, as on every line of a turn.
log = logging.getLogger("oshaberi.answers")

MOST_LOGGED = 500
_FAILED = ("error", "timeout", "empty_response")
_WANTED = ("send_message_limit", "flush_limit", "speaker_guard")
"""Stops that the settings cause."""


def log_answer(
    outcome: TurnOutcome,
    times: AnswerTimes,
    total_s: float,
    asked: str,
    known_to_fail: frozenset[ModelName],
) -> None:
    """Log an answer. `asked` is why there was a turn, in one word; `total_s` how long it took.

    Missing text is a warning, unless a model failed that was `known_to_fail`: its outage has lines
    of its own.
    """
    name = answering_model(outcome)
    is_known = name in known_to_fail and outcome.status in ("error", "timeout")
    fields = {**_fields(outcome, times), "total_s": round(total_s, 3), "asked": asked}
    if outcome.missing_text is None:
        log.info("answered by %s/%s", *name, extra=fields)
    else:
        level = logging.INFO if is_known else logging.WARNING
        log.log(level, "an answer ended without its text: %s", outcome.missing_text, extra=fields)


def answering_model(outcome: TurnOutcome) -> ModelName:
    """Return the provider and model that was asked last; empty if none was."""
    last = outcome.results[-1].thought_log if outcome.results else None
    return ("", "") if last is None else (last.provider or "", last.model or "")


def _fields(outcome: TurnOutcome, times: AnswerTimes) -> Mapping[str, object]:
    provider, model = answering_model(outcome)
    used = [result.usage for result in outcome.results if result.usage is not None]
    return {
        "status": outcome.status,
        "why": outcome.missing_text or outcome.stop_reason,
        "provider": provider or None,
        "model": model or None,
        "tokens_in": sum(one.input_tokens for one in used) if used else None,
        "tokens_out": sum(one.output_tokens for one in used) if used else None,
        "tokens_cached": sum(one.cached_tokens for one in used) if used else None,
        "first_token_s": _rounded(times.first_token_s),
        "first_message_s": _rounded(times.first_message_s),
        "messages": len(outcome.message_ids),
        "requests": len(outcome.results),
        "undelivered": len(outcome.undelivered) or None,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


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
    if last.status == "empty_response":
        return ": the model sent no text"
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


# Why a job produced no answer, in one word, for *Why this turn*.
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


def stored_unsaid_reason(outcomes: Sequence[TurnOutcome]) -> str | None:
    """Return the same with the model's own note, in the form that is stored."""
    reason = unsaid_reason(outcomes)
    noted = outcomes[-1].silence_reason if reason == "silent" else ""
    return f"silent_because {_shortened(noted)}" if noted else reason


def _shortened(noted: str) -> str:
    return noted if len(noted) <= LONGEST_NOTE else f"{noted[: LONGEST_NOTE - 1].rstrip()}…"


def result_of_stop(request: StopRequest) -> StreamResult:
    """Return the result of a turn that was stopped while no stream was running."""
    if request.follow_up:
        return StreamResult("follow_up_interrupt")
    if request.at_boundary:
        return StreamResult("interrupted", request.reason)
    return StreamResult("stopped_by_user", request.reason)


def stop_reason(request: StopRequest) -> Unsaid | None:
    """Return the reason for a job that a stop ended before its turn began."""
    if request.reason == "system_request":
        return None
    return _ended_by(is_follow_up=request.follow_up)


def _ended_by(*, is_follow_up: bool) -> Unsaid:
    return "superseded" if is_follow_up else "stopped"
