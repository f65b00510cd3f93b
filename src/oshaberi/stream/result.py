"""The one value a stream ends with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from oshaberi.chunks import ProviderError, ToolCall, Usage
from oshaberi.delivery.ledger import Ledger
from oshaberi.secret_redaction import redact
from oshaberi.stream.model_output import ThoughtLog

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
