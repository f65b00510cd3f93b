"""The OpenAI-compatible wire: chat completions as chunks, `[DONE]` at the end."""

from __future__ import annotations

import json
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
from discord_stage.model_servers.wire_format import Encoder, ReceivedRequest, WireAnswer, pieces

REFUSALS: Mapping[FailureKind, tuple[int, str | None, str]] = {
    "rate_limit": (429, "rate_limit_exceeded", "Rate limit reached for requests per min"),
    "provider_overloaded": (503, None, "The engine is currently overloaded, please try again"),
    "timeout": (504, None, "Upstream request failed"),
    "content_blocked": (400, "content_policy_violation", "Your request was rejected"),
    "auth": (401, "invalid_api_key", "Incorrect API key provided"),
    "model_error": (404, "model_not_found", "The model `nothing` does not exist"),
    "context_length": (400, "context_length_exceeded", "This model's maximum context length is 8"),
    "balance_exhausted": (402, None, "Insufficient Balance"),
    "affordability": (402, None, "You requested up to 900 tokens, but can only afford 20"),
    "network": (502, None, "Bad gateway"),
    "api_error": (400, "invalid_request_error", "Something about this request is wrong"),
}
_DETAIL: dict[str, Any] = {"type": "reasoning.text", "index": 0, "format": "test-v1"}


class OpenAIWire:
    """The wire format of OpenAI; `reasoning_field` is the name of the field for thoughts."""

    name = "openai"
    base_path = "/v1"
    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, reasoning_field: str = "reasoning_content") -> None:
        self.reasoning_field = reasoning_field

    def answers(self, request: ReceivedRequest) -> bool:
        return (request.method, request.path) == ("POST", "/v1/chat/completions")

    def refuse(self, step: Refuse) -> WireAnswer:
        status, code, message = REFUSALS[step.kind]
        return WireAnswer(status, _error(step.message or message, code))

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        if key is None:
            return WireAnswer(400, _error("Bad request", None))
        return WireAnswer(
            400, _error(f"Unsupported parameter: '{key}'", "unsupported_parameter", key)
        )

    def encoder(self, request: ReceivedRequest) -> Encoder:
        return OpenAIEncoder(request.json, self.reasoning_field)


class OpenAIEncoder:
    def __init__(self, asked: Mapping[str, Any], reasoning_field: str) -> None:
        self._model = asked.get("model", "")
        self._counts = bool((asked.get("stream_options") or {}).get("include_usage"))
        self._reasoning_field = reasoning_field
        self._calls = 0

    def begin(self) -> Sequence[str]:
        return [self._delta({"role": "assistant", "content": ""})]

    def say(self, text: str) -> Sequence[str]:
        return [self._delta({"content": text})]

    def think(self, step: Think) -> Sequence[str]:
        frames = [self._thought(text, step.signature is not None) for text in step.pieces]
        if step.signature is not None:
            signed = {"signature": step.signature}
            frames.append(self._delta({"reasoning_details": [_DETAIL | signed]}))
        return frames

    def _thought(self, text: str, in_detail: bool) -> str:
        """Write a thought. With details (OpenRouter), the text is in the event twice."""
        details = {"reasoning_details": [_DETAIL | {"text": text}]} if in_detail else {}
        return self._delta({self._reasoning_field: text, **details})

    def call(self, step: Call) -> Sequence[str]:
        """Write a call. Only the first piece has the name and the id."""
        index = self._calls
        self._calls += 1
        id_ = step.id or f"call_{index}"
        first = {"index": index, "id": id_, "type": "function"}
        rest = pieces(step.arguments, step.pieces)
        return [
            self._call(first, {"name": step.name, "arguments": ""}),
            *(self._call({"index": index}, {"arguments": part}) for part in rest),
        ]

    def show(self, step: Show) -> Sequence[str]:
        url = f"data:{step.mime};base64,{b64encode(step.content).decode()}"
        image = {"type": "image_url", "image_url": {"url": url}, "index": 0}
        return [self._delta({"content": "", "images": [image]})]

    def cite(self, step: Cite) -> Sequence[str]:
        page = {"url": step.url, "title": step.title, "start_index": 0, "end_index": 1}
        annotation = {"type": "url_citation", "url_citation": page}
        return [self._delta({"content": "", "annotations": [annotation]})]

    def error(self, step: ErrorEvent) -> Sequence[str]:
        _status, code, message = REFUSALS[step.kind]
        return [_frame(_error(step.message or message, code, step.parameter))]

    def garbage(self, text: str) -> Sequence[str]:
        return [_frame(text)]

    def keep_alive(self) -> Sequence[str]:
        return [": OPENROUTER PROCESSING\n\n", self._delta({})]

    def end(self, reason: FinishReason, count: Count | None) -> Sequence[str]:
        frames = [self._delta({}, reason)]
        if count is not None and self._counts:
            usage = {
                "prompt_tokens": count.input_tokens,
                "prompt_tokens_details": {
                    "cached_tokens": count.cached_tokens,
                    "cache_write_tokens": count.cache_write_tokens,
                },
                "completion_tokens": count.output_tokens,
                "total_tokens": count.input_tokens + count.output_tokens,
            }
            frames.append(_frame(json.dumps(self._event([]) | {"usage": usage})))
        return [*frames, _frame("[DONE]")]

    def _call(self, call: Mapping[str, Any], function: Mapping[str, str]) -> str:
        return self._delta({"tool_calls": [{**call, "function": function}]})

    def _delta(self, delta: Mapping[str, Any], reason: FinishReason | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _frame(json.dumps(self._event([choice]), ensure_ascii=False))

    def _event(self, choices: list[Any]) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self._model,
            "choices": choices,
        }


def _frame(data: str) -> str:
    return f"data: {data}\n\n"


def _error(message: str, code: str | None, parameter: str | None = None) -> str:
    inner = {"message": message, "type": None, "param": parameter, "code": code}
    return json.dumps({"error": inner})
