"""The life of a stream: its phases, how its reading ends, which status wins, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from oshaberi.chunks import ProviderError, ToolCall, Usage
from oshaberi.delivery.ledger import Ledger
from oshaberi.delivery.outcomes import Broken
from oshaberi.errors import OshaberiError
from oshaberi.secret_redaction import redact
from oshaberi.stream.model_output import ThoughtLog
from oshaberi.stream.stops import StopRequest

LONGEST_MESSAGE = 4000
Status = Literal[
    "completed",
    "function_call",
    "error",
    "timeout",
    "stopped_by_user",
    "follow_up_interrupt",
    "interrupted",
    "empty_response",
]
StopReason = Literal[
    "user_request",
    "system_request",
    "speaker_guard",
    "send_message_limit",
    "flush_limit",
    "channel_unavailable",
]


class StreamPhase(Enum):
    NEW = "nothing has happened yet"
    READING = "the model speaks, messages leave beside it"
    DRAINING = "the model is done, the queue leaves at its pace"
    HURRYING = "the queue leaves without simulated waits"
    HALTING = "a stop: only the closing flush may still leave"
    DISCARDING = "what waits is dropped"
    DONE = "there is a result"


class StreamTrigger(Enum):
    OPEN = "the stream begins"
    END = "the provider ended"
    GUARD = "the model spoke for somebody else"
    CALL = "the model asks for a tool"
    ERROR = "the provider failed"
    TIMEOUT = "the model was silent, or thought, for too long"
    STOP = "somebody asked to stop"
    CLOSE = "the process ends"
    FOLLOW_UP = "the user wrote again"
    BROKEN = "delivery cannot go on"
    DRAINED = "nothing is left to send"


class IllegalTransitionError(OshaberiError):
    """A trigger came in a phase that does not allow it."""


_RUNNING = (StreamPhase.READING, StreamPhase.DRAINING, StreamPhase.HURRYING)

TRANSITIONS: dict[tuple[StreamPhase, StreamTrigger], StreamPhase] = {
    (StreamPhase.NEW, StreamTrigger.OPEN): StreamPhase.READING,
    (StreamPhase.READING, StreamTrigger.END): StreamPhase.DRAINING,
    (StreamPhase.READING, StreamTrigger.GUARD): StreamPhase.DRAINING,
    (StreamPhase.READING, StreamTrigger.CALL): StreamPhase.HURRYING,
    (StreamPhase.READING, StreamTrigger.ERROR): StreamPhase.HURRYING,
    (StreamPhase.READING, StreamTrigger.TIMEOUT): StreamPhase.HURRYING,
    **{(phase, StreamTrigger.STOP): StreamPhase.HALTING for phase in _RUNNING},
    **{(phase, StreamTrigger.CLOSE): StreamPhase.HURRYING for phase in _RUNNING},
    **{(phase, StreamTrigger.FOLLOW_UP): StreamPhase.DISCARDING for phase in _RUNNING},
    **{(phase, StreamTrigger.BROKEN): StreamPhase.DISCARDING for phase in _RUNNING},
    (StreamPhase.DRAINING, StreamTrigger.DRAINED): StreamPhase.DONE,
    (StreamPhase.HURRYING, StreamTrigger.DRAINED): StreamPhase.DONE,
    (StreamPhase.HALTING, StreamTrigger.DRAINED): StreamPhase.DONE,
    (StreamPhase.DISCARDING, StreamTrigger.DRAINED): StreamPhase.DONE,
}


def following(phase: StreamPhase, trigger: StreamTrigger) -> StreamPhase:
    """Return the next phase. A pair that is not in the table is a mistake in the orchestrator."""
    try:
        return TRANSITIONS[phase, trigger]
    except KeyError:
        raise IllegalTransitionError(f"{trigger.name} in {phase.name}") from None


@dataclass(frozen=True, slots=True)
class ReadingEnd:
    """How reading ended: the provider's end, a guard, a call or an error."""

    trigger: StreamTrigger
    calls: tuple[ToolCall, ...] = ()
    error: ProviderError | None = None


@dataclass(frozen=True, slots=True)
class StatusVerdict:
    status: Status
    stop_reason: StopReason | None = None
    data: ToolCall | ProviderError | Exception | None = None


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """What is known about a stream at its end."""

    stop: StopRequest | None
    ending: ReadingEnd | None
    broken: Broken | None
    expected: int
    """Messages that were to be sent."""
    visible: int
    """Messages that can be read."""
    last_error: Exception | None


def verdict_on(facts: StreamFacts) -> StatusVerdict:
    """Return the status that a stream ends with: the more decisive fact wins."""
    if facts.stop is not None:
        return _stopped(facts.stop)
    ending = facts.ending
    if ending is not None and ending.trigger is StreamTrigger.ERROR:
        return StatusVerdict("error", data=ending.error)
    if ending is not None and ending.trigger is StreamTrigger.TIMEOUT:
        return StatusVerdict("timeout", data=ending.error)
    if facts.broken is not None or ending is None:
        return _broken(facts.broken)
    if ending.trigger is StreamTrigger.GUARD:
        return StatusVerdict("stopped_by_user", "speaker_guard")
    if ending.trigger is StreamTrigger.CALL:
        return StatusVerdict("function_call", data=ending.calls[0] if ending.calls else None)
    if facts.expected == 0:
        return StatusVerdict("empty_response")
    if facts.visible == 0:
        return StatusVerdict("error", data=facts.last_error)
    return StatusVerdict("completed")


def _stopped(stop: StopRequest) -> StatusVerdict:
    if stop.follow_up:
        return StatusVerdict("follow_up_interrupt")
    if stop.at_boundary:
        return StatusVerdict("interrupted", stop.reason)
    return StatusVerdict("stopped_by_user", stop.reason)


def _broken(broken: Broken | None) -> StatusVerdict:
    if broken is None:
        return StatusVerdict("error")
    if broken.reason == "error":
        return StatusVerdict("error", data=broken.error)
    return StatusVerdict("stopped_by_user", broken.reason)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts and times of a stream."""

    chunks: int = 0
    characters: int = 0
    messages: int = 0
    first_message_ms: int | None = None
    queue_wait_ms: int = 0
    """The longest time a message waited from being ready to being sent."""
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class StreamResult:
    """The result of one stream: exactly one per call of `stream_to_sink`."""

    status: Status
    stop_reason: StopReason | None = None
    data: ToolCall | ProviderError | Exception | None = None
    calls: tuple[ToolCall, ...] = ()
    accumulated_text: str = ""
    thought_log: ThoughtLog = field(default_factory=ThoughtLog)
    details: tuple[str, ...] = ()
    undelivered: str = ""
    unfinished: str = ""
    """The half clause at the end of `undelivered`, if a stop came before the model ended it."""
    finish_reason: str | None = None
    usage: Usage | None = None
    continuation_prefill: str | None = None
    metrics: Metrics = field(default_factory=Metrics)
    ledger: Ledger = field(default_factory=Ledger, compare=False, repr=False)

    @property
    def resendable(self) -> str:
        """Return what can be sent later as it is: all that is undelivered but half a clause."""
        return self.undelivered.removesuffix(self.unfinished)

    def as_record(self) -> dict[str, Any]:
        """Return the last line of `oshaberi replay --json` (spec 10)."""
        return {
            "kind": "result",
            "status": self.status,
            "stop_reason": self.stop_reason,
            "accumulated_text": self.accumulated_text,
            "thoughts": self.thought_log.texts,
            "details": list(self.details),
            "messages_sent": self.metrics.messages,
            "undelivered": self.undelivered,
            "finish_reason": self.finish_reason,
            "data": _plain(self.data),
        }


def _plain(data: ToolCall | ProviderError | Exception | None) -> dict[str, Any] | None:
    match data:
        case None:
            return None
        case ToolCall():
            return {"name": data.name, "args": dict(data.args)}
        case ProviderError():
            return {"type": data.type, "message": redact(data.message, LONGEST_MESSAGE)}
        case _:
            return {"type": type(data).__name__, "message": redact(str(data), LONGEST_MESSAGE)}
