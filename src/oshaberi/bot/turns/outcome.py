"""The outcome of a turn: all its streams together, and how long somebody waited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Sent
from oshaberi.stream.result import Status, StopReason, StreamResult

# How long somebody waited for an answer, counted from the question.


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """The waits of one answer in seconds. None: there was no such text, or nobody asked."""

    first_token_s: float | None = None
    first_message_s: float | None = None
    limit_waits_s: tuple[float, ...] = ()
    """How long each message that had to wait for a limit of Discord waited."""


def answer_times(asked_s: float | None, response: ResponseState) -> AnswerTimes:
    """Return the waits of a response to a question that was asked at `asked_s` (loop time)."""

    def since(at_s: float | None) -> float | None:
        return None if at_s is None or asked_s is None else max(0.0, at_s - asked_s)

    return AnswerTimes(
        since(response.first_token_at),
        since(response.first_sent_at),
        tuple(wait.left_at - wait.wanted_at for wait in response.limit_waits),
    )


# The outcome of a turn: all its streams together.


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

    @property
    def interrupted(self) -> bool:
        """Return whether a user stopped or interrupted the turn, or a shutdown did."""
        by_hand = self.status == "stopped_by_user" and self.stop_reason in _BY_HAND
        return by_hand or self.status in ("follow_up_interrupt", "interrupted")

    @property
    def is_unsaid(self) -> bool:
        """Return whether the process ended before anything was sent. The turn can start again."""
        return self.stop_reason == "system_request" and not self.message_ids

    @property
    def is_cut_by_restart(self) -> bool:
        """Return whether the process ended in the middle of the answer."""
        return self.status == "interrupted" and bool(self.message_ids)

    @property
    def is_shut_out(self) -> bool:
        """Return whether Discord accepted nothing in the channel, not even a notice."""
        said = self.message_ids or self.notice_ids
        return self.stop_reason == "channel_unavailable" and not said

    @property
    def succeeded(self) -> bool:
        return self.status in ("completed", "stopped_by_user")


def outcome_of(
    last: StreamResult,
    results: Sequence[StreamResult],
    response: ResponseState,
) -> TurnOutcome:
    return TurnOutcome(
        status=last.status,
        stop_reason=last.stop_reason,
        text=_joined(result.accumulated_text for result in results),
        details=_joined(text for result in results for text in result.details),
        undelivered=_joined([*(r.resendable for r in results), response.attached]),
        message_ids=_ids(response.messages),
        notice_ids=_ids(response.notices),
        is_silent=_is_silent(last, response),
        silence_reason=response.silence_reason,
        failure=last.data if last.status == "error" else None,
        results=tuple(results),
    )


def _is_silent(last: StreamResult, response: ResponseState) -> bool:
    return last.status == "completed" and response.chose_silence and not response.messages


def _ids(messages: Iterable[Sent]) -> tuple[int, ...]:
    return tuple(sent.id for sent in messages if sent.id is not None)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text.strip())
