"""Anthropic's wire: numbered content blocks that begin, grow and stop."""

from __future__ import annotations

import json
import re
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
from discord_stage.model_servers.wire_format import Encoder, ReceivedRequest, WireAnswer, pieces

_VERTEX_PATH = re.compile(
    r"/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/[^/]+:streamRawPredict"
)
_REFUSALS: Mapping[FailureKind, tuple[int, str, str]] = {
    "rate_limit": (429, "rate_limit_error", "This request would exceed your rate limit"),
    "provider_overloaded": (529, "overloaded_error", "Overloaded"),
    "timeout": (504, "timeout_error", "Request timed out"),
    "content_blocked": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "model_error": (404, "not_found_error", "model: claude-nothing"),
    "context_length": (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    "balance_exhausted": (400, "invalid_request_error", "Your credit balance is too low to access"),
    "affordability": (402, "billing_error", "You can only afford 20 tokens"),
    "network": (502, "api_error", "Bad gateway"),
    "api_error": (400, "invalid_request_error", "messages: roles must alternate"),
}
_REASONS: Mapping[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
}


class AnthropicWire:
    """The wire format of Anthropic."""

    name = "anthropic"
    base_path = ""
    content_type = "text/event-stream; charset=utf-8"

    def answers(self, request: ReceivedRequest) -> bool:
        return (request.method, request.path) == ("POST", "/v1/messages")

    def refuse(self, step: Refuse) -> WireAnswer:
        status, kind, message = _REFUSALS[step.kind]
        return WireAnswer(
            status, json.dumps({"type": "error", **_error(kind, step.message or message)})
        )

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        message = f"{key}: Extra inputs are not permitted" if key else "Bad request"
        return WireAnswer(400, json.dumps(_error("invalid_request_error", message)))

    def encoder(self, request: ReceivedRequest) -> Encoder:
        return AnthropicEncoder(request.json)


class VertexClaudeWire(AnthropicWire):
    """The wire format of Claude on Vertex AI: the same, with the model in the path."""

    name = "vertex-claude"
    base_path = "/v1"

    def answers(self, request: ReceivedRequest) -> bool:
        return request.method == "POST" and _VERTEX_PATH.fullmatch(request.path) is not None


class AnthropicEncoder:
    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._model = asked.get("model", "")
        self._index = -1
        self._open: str | None = None

    def begin(self) -> Sequence[str]:
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return [_frame("message_start", message=message), _frame("ping")]

    def say(self, text: str) -> Sequence[str]:
        opened = self._block("text", {"type": "text", "text": ""})
        return [*opened, self._delta({"type": "text_delta", "text": text})]

    def think(self, step: Think) -> Sequence[str]:
        frames = self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        for text in step.pieces:
            frames.append(self._delta({"type": "thinking_delta", "thinking": text}))
        if step.signature is not None:
            delta = {"type": "signature_delta", "signature": step.signature}
            frames.append(self._delta(delta))
        return frames

    def call(self, step: Call) -> Sequence[str]:
        id_ = step.id or f"toolu_{self._index + 1}"
        block = {"type": "tool_use", "id": id_, "name": step.name, "input": {}}
        opened = [*self._close(), *self._block("tool_use", block)]
        parts = ["", *pieces(step.arguments, step.pieces)]
        grown = [self._delta({"type": "input_json_delta", "partial_json": p}) for p in parts]
        return [*opened, *grown, *self._close()]

    def show(self, _step: Show) -> Sequence[str]:
        return []

    def cite(self, step: Cite) -> Sequence[str]:
        found = {"type": "web_search_result_location", "url": step.url, "title": step.title}
        opened = self._block("text", {"type": "text", "text": ""})
        return [*opened, self._delta({"type": "citations_delta", "citation": found})]

    def error(self, step: ErrorEvent) -> Sequence[str]:
        _status, kind, message = _REFUSALS[step.kind]
        return [_frame("error", **_error(kind, step.message or message))]

    def garbage(self, text: str) -> Sequence[str]:
        return [f"event: content_block_delta\ndata: {text}\n\n"]

    def keep_alive(self) -> Sequence[str]:
        return [": still here\n\n", _frame("ping")]

    def end(self, reason: FinishReason, count: Count | None) -> Sequence[str]:
        usage = {"output_tokens": 1}
        if count is not None:
            usage = {
                "input_tokens": count.input_tokens - count.cached_tokens - count.cache_write_tokens,
                "cache_read_input_tokens": count.cached_tokens,
                "cache_creation_input_tokens": count.cache_write_tokens,
                "output_tokens": count.output_tokens,
            }
        delta = {"stop_reason": _REASONS[reason], "stop_sequence": None}
        return [
            *self._close(),
            _frame("message_delta", delta=delta, usage=usage),
            _frame("message_stop"),
        ]

    def _block(self, kind: str, block: Mapping[str, Any]) -> list[str]:
        """Open a block of this kind, unless one is open."""
        if self._open == kind:
            return []
        closed = self._close()
        self._index += 1
        self._open = kind
        return [*closed, _frame("content_block_start", index=self._index, content_block=block)]

    def _close(self) -> list[str]:
        if self._open is None:
            return []
        self._open = None
        return [_frame("content_block_stop", index=self._index)]

    def _delta(self, delta: Mapping[str, Any]) -> str:
        return _frame("content_block_delta", index=self._index, delta=delta)


def _frame(kind: str, **fields: Any) -> str:
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n"


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"type": kind, "message": message}}
