"""Gemini's wire: `models/NAME:streamGenerateContent`, calls whole, thoughts as marked parts.

A signature in a script is written as it is sent: base64, in the alphabet for URLs.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
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

_PATH = re.compile(r"/v1(?:alpha|beta)?/models/[^/]+:streamGenerateContent\?alt=sse")
_VERTEX_PATH = re.compile(
    r"/v1/projects/[^/]+/locations/[^/]+/publishers/google"
    r"/models/[^/]+:streamGenerateContent\?alt=sse"
)
_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "tool_calls": "STOP"}

_REFUSALS: dict[FailureKind, tuple[int, str, str]] = {
    "rate_limit": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
    "provider_overloaded": (503, "UNAVAILABLE", "The model is overloaded. Try again later."),
    "timeout": (504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    "content_blocked": (400, "INVALID_ARGUMENT", "The request was blocked by safety settings."),
    "auth": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "model_error": (404, "NOT_FOUND", "models/nobody is not found for API version v1beta."),
    "context_length": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "balance_exhausted": (402, "FAILED_PRECONDITION", "Insufficient balance: top up to go on."),
    "affordability": (402, "FAILED_PRECONDITION", "You can only afford 12 tokens."),
    "network": (502, "UNAVAILABLE", "Bad gateway."),
    "api_error": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
}


class GoogleWire:
    """The wire format of Gemini."""

    name = "google"
    base_path = ""
    content_type = "text/event-stream"

    def answers(self, request: ReceivedRequest) -> bool:
        return request.method == "POST" and _PATH.fullmatch(request.path) is not None

    def refuse(self, step: Refuse) -> WireAnswer:
        status, body = _error(step.kind, step.message)
        return WireAnswer(status, json.dumps(body))

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        named = f'Invalid JSON payload received. Unknown name "{key}": Cannot find field.'
        message = named if key else "Request contains an invalid argument."
        error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
        return WireAnswer(400, json.dumps({"error": error}))

    def encoder(self, _request: ReceivedRequest) -> Encoder:
        return GoogleEncoder()


class VertexWire(GoogleWire):
    """The wire format of Gemini on Vertex AI: the same, in a project and a region."""

    name = "vertex"

    def answers(self, request: ReceivedRequest) -> bool:
        return request.method == "POST" and _VERTEX_PATH.fullmatch(request.path) is not None


class GoogleEncoder:
    """Writes one streamed answer."""

    def __init__(self) -> None:
        self._malformed: str | None = None
        self._cited: list[dict[str, Any]] = []

    def begin(self) -> Sequence[str]:
        return []

    def say(self, text: str) -> Sequence[str]:
        return [_event(_candidate([{"text": text}]))]

    def think(self, step: Think) -> Sequence[str]:
        parts: list[dict[str, Any]] = [{"text": text, "thought": True} for text in step.pieces]
        if step.signature:
            parts[-1]["thoughtSignature"] = step.signature
        return [_event(_candidate([part])) for part in parts]

    def call(self, step: Call) -> Sequence[str]:
        """Write a whole call. Broken arguments make Gemini send a finish reason instead."""
        try:
            args = json.loads(step.arguments or "{}")
        except ValueError:
            self._malformed = f"Malformed function call: default_api.{step.name}({step.arguments}"
            return []
        call = {"name": step.name, "args": args} | ({"id": step.id} if step.id else {})
        part: dict[str, Any] = {"functionCall": call}
        if step.signature:
            part["thoughtSignature"] = step.signature
        return [_event(_candidate([part]))]

    def show(self, step: Show) -> Sequence[str]:
        data = b64encode(step.content).decode()
        return [_event(_candidate([{"inlineData": {"mimeType": step.mime, "data": data}}]))]

    def cite(self, step: Cite) -> Sequence[str]:
        self._cited.append({"web": {"uri": step.url, "title": step.title}})
        return []

    def error(self, step: ErrorEvent) -> Sequence[str]:
        return [_event(_error(step.kind, step.message)[1])]

    def garbage(self, text: str) -> Sequence[str]:
        return [f"data: {text}\r\n\r\n"]

    def keep_alive(self) -> Sequence[str]:
        return [": still here\r\n\r\n", _event(_candidate([{"text": ""}]))]

    def end(self, reason: FinishReason, count: Count | None) -> Sequence[str]:
        last = _candidate([{"text": ""}], finishReason=_FINISH[reason])
        if self._cited:
            last["candidates"][0]["groundingMetadata"] = {"groundingChunks": self._cited}
        if self._malformed is not None:
            broken = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": self._malformed}
            last = _candidate([], **broken)
        if count is not None:
            last["usageMetadata"] = {
                "promptTokenCount": count.input_tokens,
                "cachedContentTokenCount": count.cached_tokens,
                "candidatesTokenCount": count.output_tokens,
                "totalTokenCount": count.input_tokens + count.output_tokens,
            }
        return [_event(last)]


def blocked_prompt(reason: str = "PROHIBITED_CONTENT") -> str:
    """Return the body of the answer to a blocked prompt."""
    return _event({"promptFeedback": {"blockReason": reason}, "modelVersion": "scripted"})


def _candidate(parts: Sequence[Mapping[str, Any]], **fields: str) -> dict[str, Any]:
    content = {"parts": list(parts), "role": "model"}
    return {"candidates": [{"content": content, "index": 0, **fields}], "modelVersion": "scripted"}


def _error(kind: FailureKind, message: str | None) -> tuple[int, dict[str, Any]]:
    status, code, words = _REFUSALS[kind]
    return status, {"error": {"code": status, "message": message or words, "status": code}}


def _event(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body)}\r\n\r\n"
