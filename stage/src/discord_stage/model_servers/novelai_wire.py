"""NovelAI's wire: `ai/generate-stream`, one token per event, text only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from discord_stage.model_servers.scripts import (
    Call,
    Cite,
    Count,
    ErrorEvent,
    FailureKind,
    FinishReason,
    Refuse,
    Show,
    Think,
)
from discord_stage.model_servers.wire_format import Encoder, ReceivedRequest, WireAnswer

_REFUSALS: dict[FailureKind, tuple[int, str]] = {
    "rate_limit": (429, "Too many requests are coming from you."),
    "provider_overloaded": (503, "Service temporarily unavailable."),
    "timeout": (504, "Gateway time-out."),
    "content_blocked": (400, "The request was blocked by the content filter."),
    "auth": (401, "Invalid accessToken."),
    "model_error": (400, "model not found: nobody"),
    "context_length": (400, "The prompt exceeds the maximum context length."),
    "balance_exhausted": (402, "Insufficient balance: an active subscription is required."),
    "affordability": (402, "You can only afford 12 tokens."),
    "network": (502, "Bad gateway."),
    "api_error": (400, "Validation failed"),
}


class NovelAIWire:
    """The wire format of NovelAI."""

    name = "novelai"
    base_path = ""
    content_type = "text/event-stream"

    def answers(self, request: ReceivedRequest) -> bool:
        return (request.method, request.path) == ("POST", "/ai/generate-stream")

    def refuse(self, step: Refuse) -> WireAnswer:
        body = _error(step.kind, step.message)
        return WireAnswer(body["statusCode"], json.dumps(body))

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        named = f"parameters.{key} is not allowed" if key else "Validation failed"
        return WireAnswer(400, json.dumps({"statusCode": 400, "message": named}))

    def encoder(self, request: ReceivedRequest) -> Encoder:
        return NovelAIEncoder(request.json)


class NovelAIEncoder:
    """Writes one streamed answer. It marks the last token, and gives no finish reason."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._left = int(body["parameters"]["max_length"])
        self._sent = 0

    def begin(self) -> Sequence[str]:
        return []

    def say(self, text: str) -> Sequence[str]:
        return [self._token(text)]

    def think(self, _step: Think) -> Sequence[str]:
        return []

    def call(self, _step: Call) -> Sequence[str]:
        return []

    def show(self, _step: Show) -> Sequence[str]:
        return []

    def cite(self, _step: Cite) -> Sequence[str]:
        return []

    def error(self, step: ErrorEvent) -> Sequence[str]:
        return [_event("error", _error(step.kind, step.message))]

    def garbage(self, text: str) -> Sequence[str]:
        return [f"event:newToken\ndata:{text}\n\n"]

    def keep_alive(self) -> Sequence[str]:
        return [": still here\n\n", "event:newToken\ndata:\n\n"]

    def end(self, reason: FinishReason, _count: Count | None) -> Sequence[str]:
        """Write the end. For `length`, the answer uses up all the allowed tokens."""
        missing = self._left - self._sent - 1 if reason == "length" else 0
        return [*(self._token("") for _ in range(missing)), self._token("", final=True)]

    def _token(self, text: str, *, final: bool = False) -> str:
        self._sent += 1
        body = {"token": text, "ptr": self._sent - 1, "final": final, "logprobs": None}
        return _event("newToken", body, self._sent)


def _error(kind: FailureKind, message: str | None) -> dict[str, Any]:
    status, words = _REFUSALS[kind]
    return {"statusCode": status, "message": message or words}


def _event(name: str, body: Mapping[str, Any], number: int | None = None) -> str:
    identity = f"id:{number}\n" if number else ""
    return f"event:{name}\n{identity}data:{json.dumps(body)}\n\n"
