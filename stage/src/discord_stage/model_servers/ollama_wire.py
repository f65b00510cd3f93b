"""Ollama's own wire: `/api/chat`, one JSON object per line, calls in one piece; `/api/pull`."""

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

_REFUSALS: Mapping[FailureKind, tuple[int, str]] = {
    "rate_limit": (429, "too many requests"),
    "provider_overloaded": (503, "server busy, please try again"),
    "timeout": (504, "timed out waiting for llama runner to start"),
    "content_blocked": (403, "your message was flagged by moderation"),
    "auth": (401, "unauthorized"),
    "model_error": (404, "model 'nothing' not found"),
    "context_length": (400, "the input length exceeds the context length"),
    "balance_exhausted": (402, "payment required"),
    "affordability": (402, "you can only afford 20 tokens"),
    "network": (502, "bad gateway"),
    "api_error": (400, "invalid message format"),
}


class OllamaWire:
    """The wire format of Ollama."""

    name = "ollama-native"
    base_path = ""
    content_type = "application/x-ndjson"

    def answers(self, request: ReceivedRequest) -> bool:
        return request.method == "POST" and request.path in ("/api/chat", "/api/pull")

    def refuse(self, step: Refuse) -> WireAnswer:
        status, message = _REFUSALS[step.kind]
        return WireAnswer(status, json.dumps({"error": step.message or message}))

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        message = f'invalid option provided: parameter "{key}"' if key else "bad request"
        return WireAnswer(400, json.dumps({"error": message}))

    def encoder(self, request: ReceivedRequest) -> Encoder:
        if request.path == "/api/pull":
            return OllamaPullEncoder(request.json)
        return OllamaEncoder(request.json)


class OllamaEncoder:
    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._model = asked.get("model", "")

    def begin(self) -> Sequence[str]:
        return []

    def say(self, text: str) -> Sequence[str]:
        return [self._line({"content": text})]

    def think(self, step: Think) -> Sequence[str]:
        return [self._line({"content": "", "thinking": text}) for text in step.pieces]

    def call(self, step: Call) -> Sequence[str]:
        try:
            arguments = json.loads(step.arguments or "{}")
        except ValueError:
            return [json.dumps({"error": "error parsing tool call"}) + "\n"]
        named = {"id": step.id} if step.id else {}
        call = {**named, "function": {"name": step.name, "arguments": arguments}}
        return [self._line({"content": "", "tool_calls": [call]})]

    def show(self, _step: Show) -> Sequence[str]:
        return []

    def cite(self, _step: Cite) -> Sequence[str]:
        return []

    def error(self, step: ErrorEvent) -> Sequence[str]:
        return [json.dumps({"error": step.message or _REFUSALS[step.kind][1]}) + "\n"]

    def garbage(self, text: str) -> Sequence[str]:
        return [f"{text}\n"]

    def keep_alive(self) -> Sequence[str]:
        return ["\n", self._line({"content": ""})]

    def end(self, reason: FinishReason, count: Count | None) -> Sequence[str]:
        counted = {}
        if count is not None:
            counted = {"prompt_eval_count": count.input_tokens, "eval_count": count.output_tokens}
        done = "length" if reason == "length" else "stop"
        return [self._line({"content": ""}, done=True, done_reason=done, **counted)]

    def _line(self, message: Mapping[str, Any], *, done: bool = False, **fields: Any) -> str:
        said = {"role": "assistant", **message}
        event = {"model": self._model, "created_at": "2026-11-18T00:00:00Z", "message": said}
        return json.dumps({**event, "done": done, **fields}, ensure_ascii=False) + "\n"


class OllamaPullEncoder(OllamaEncoder):
    """Writes the progress of a pull, whose steps are the texts of the script."""

    def say(self, text: str) -> Sequence[str]:
        done, _, whole = text.partition("/")
        step = {"status": "pulling", "total": int(whole), "completed": int(done)}
        return [json.dumps(step) + "\n"]

    def end(self, _reason: FinishReason, _count: Count | None) -> Sequence[str]:
        return [json.dumps({"status": "success"}) + "\n"]
