"""OpenAI's Responses wire: numbered items that begin, grow, and are repeated whole at their end."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from discord_stage.model_servers.openai_wire import REFUSALS
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

Fields = dict[str, Any]

_REFUSALS: Mapping[FailureKind, tuple[int, str | None, str]] = {
    **REFUSALS,
    "context_length": (400, "context_length_exceeded", "Your input exceeds the context window"),
    "balance_exhausted": (429, "insufficient_quota", "You exceeded your current quota"),
}
_INCOMPLETE: Mapping[FinishReason, str] = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}


class OpenAIResponsesWire:
    """The wire format of OpenAI's `/responses`."""

    name = "openai-responses"
    base_path = "/v1"
    content_type = "text/event-stream; charset=utf-8"

    def answers(self, request: ReceivedRequest) -> bool:
        return (request.method, request.path) == ("POST", "/v1/responses")

    def refuse(self, step: Refuse) -> WireAnswer:
        status, code, message = _REFUSALS[step.kind]
        return _refusal(status, step.message or message, code)

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        if key is None:
            return _refusal(400, "Bad request", None)
        named = f"Unsupported parameter: '{key}' is not supported with this model."
        return _refusal(400, named, "unsupported_parameter", key)

    def encoder(self, request: ReceivedRequest) -> Encoder:
        return OpenAIResponsesEncoder(request.json)


class OpenAIResponsesEncoder:
    """Writes one streamed answer."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._model = asked.get("model", "")
        self._events = 0
        self._output: list[Fields] = []
        self._open: Fields | None = None

    def begin(self) -> Sequence[str]:
        response = self._response("in_progress")
        return [
            self._frame("response.created", response=response),
            self._frame("response.in_progress", response=response),
        ]

    def say(self, text: str) -> Sequence[str]:
        opened = self._open_item("message")
        assert self._open is not None
        self._open["content"][0]["text"] += text
        delta = self._of_item("response.output_text.delta", content_index=0, delta=text)
        return [*opened, delta]

    def think(self, step: Think) -> Sequence[str]:
        frames = self._open_item("reasoning")
        assert self._open is not None
        for text in step.pieces:
            self._open["summary"][0]["text"] += text
            kind = "response.reasoning_summary_text.delta"
            frames.append(self._of_item(kind, summary_index=0, delta=text))
        if step.signature is not None:
            self._open["encrypted_content"] = step.signature
        return frames

    def call(self, step: Call) -> Sequence[str]:
        frames = self._open_item("function_call", step)
        assert self._open is not None
        self._open["arguments"] = step.arguments
        kind = "response.function_call_arguments"
        frames += [
            self._of_item(f"{kind}.delta", delta=part)
            for part in pieces(step.arguments, step.pieces)
        ]
        frames.append(self._of_item(f"{kind}.done", arguments=step.arguments))
        return [*frames, *self._closed()]

    def show(self, step: Show) -> Sequence[str]:
        frames = self._open_item("image_generation_call")
        assert self._open is not None
        self._open["status"] = "completed"
        self._open["result"] = b64encode(step.content).decode()
        return [*frames, *self._closed()]

    def cite(self, step: Cite) -> Sequence[str]:
        opened = self._open_item("message")
        assert self._open is not None
        found = {"type": "url_citation", "url": step.url, "title": step.title}
        annotation = {**found, "start_index": 0, "end_index": 1}
        self._open["content"][0]["annotations"].append(annotation)
        kind = "response.output_text.annotation.added"
        place = {"content_index": 0, "annotation_index": 0, "annotation": annotation}
        return [*opened, self._of_item(kind, **place)]

    def error(self, step: ErrorEvent) -> Sequence[str]:
        _status, code, message = _REFUSALS[step.kind]
        error = {"code": code, "message": step.message or message, "param": step.parameter}
        response = self._response("failed", error=error)
        return [
            self._frame("error", **error),
            self._frame("response.failed", response=response),
        ]

    def garbage(self, text: str) -> Sequence[str]:
        return [f"event: response.output_text.delta\ndata: {text}\n\n"]

    def keep_alive(self) -> Sequence[str]:
        response = self._response("in_progress")
        return [": still here\n\n", self._frame("response.in_progress", response=response)]

    def end(self, reason: FinishReason, count: Count | None) -> Sequence[str]:
        closed = self._closed()
        usage = None
        if count is not None:
            usage = {
                "input_tokens": count.input_tokens,
                "input_tokens_details": {
                    "cached_tokens": count.cached_tokens,
                    "cache_write_tokens": count.cache_write_tokens,
                },
                "output_tokens": count.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": count.input_tokens + count.output_tokens,
            }
        status = "incomplete" if reason in _INCOMPLETE else "completed"
        details = {"reason": _INCOMPLETE[reason]} if reason in _INCOMPLETE else None
        response = self._response(status, usage=usage, incomplete_details=details)
        return [*closed, self._frame(f"response.{status}", response=response)]

    def _open_item(self, kind: str, call: Call | None = None) -> list[str]:
        """Open an item of this kind, unless one is open. Each call is its own item."""
        if self._open is not None and self._open["type"] == kind and call is None:
            return []
        closed = self._closed()
        self._open = _item(kind, len(self._output), call)
        bare = {**self._open, "content": []} if kind == "message" else self._open
        added = self._of_item("response.output_item.added", item=bare)
        return [*closed, added, *self._part("added")]

    def _closed(self) -> list[str]:
        if self._open is None:
            return []
        frames = [*self._part("done"), self._of_item("response.output_item.done", item=self._open)]
        self._output.append(self._open)
        self._open = None
        return frames

    def _part(self, happening: str) -> list[str]:
        assert self._open is not None
        match self._open["type"]:
            case "message":
                part = self._open["content"][0]
                frames = [self._of_item("response.output_text.done", content_index=0, **part)]
                kind = f"response.content_part.{happening}"
                place = self._of_item(kind, content_index=0, part=part)
            case "reasoning":
                part = self._open["summary"][0]
                text = {"summary_index": 0, "text": part["text"]}
                frames = [self._of_item("response.reasoning_summary_text.done", **text)]
                kind = f"response.reasoning_summary_part.{happening}"
                place = self._of_item(kind, summary_index=0, part=part)
            case _:
                return []
        return [*frames, place] if happening == "done" else [place]

    def _of_item(self, kind: str, **fields: Any) -> str:
        assert self._open is not None
        place = {"item_id": self._open["id"], "output_index": len(self._output)}
        return self._frame(kind, **({**fields, **place, "type": kind}))

    def _response(self, status: str, **fields: Any) -> Fields:
        return {
            "id": "resp_1",
            "object": "response",
            "status": status,
            "model": self._model,
            "output": list(self._output),
            "error": None,
            "incomplete_details": None,
            "usage": None,
            **fields,
        }

    def _frame(self, kind: str, **fields: Any) -> str:
        event = {**fields, "type": kind, "sequence_number": self._events}
        self._events += 1
        return f"event: {kind}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


def _item(kind: str, index: int, call: Call | None) -> Fields:
    match kind:
        case "message":
            content = [{"type": "output_text", "text": "", "annotations": []}]
            return {"id": f"msg_{index}", "type": kind, "role": "assistant", "content": content}
        case "reasoning":
            summary = [{"type": "summary_text", "text": ""}]
            return {"id": f"rs_{index}", "type": kind, "summary": summary}
        case "image_generation_call":
            return {"id": f"ig_{index}", "type": kind, "status": "in_progress", "result": None}
        case _:
            name = call.name if call else ""
            call_id = (call.id if call else None) or f"call_{index}"
            made = {"id": f"fc_{index}", "type": kind, "name": name, "call_id": call_id}
            return {**made, "arguments": ""}


def _refusal(
    status: int, message: str, code: str | None, parameter: str | None = None
) -> WireAnswer:
    inner = {"message": message, "type": None, "param": parameter, "code": code}
    return WireAnswer(status, json.dumps({"error": inner}))
