"""How long somebody waited for an answer, counted from the question."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.delivery.response_state import ResponseState


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
