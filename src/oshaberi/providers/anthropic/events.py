"""Reads one event of Anthropic's stream. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.providers.wire.sdk_loading import StreamError, body_failure
from oshaberi.providers.wire.wire_steps import CallPiece, FinishStep, SignedBlock, Step, TokenCount

Event = Mapping[str, Any]

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def read(event: Event) -> Sequence[Step]:
    """Unknown kinds of events say nothing: the API promises to add some."""
    match event.get("type"):
        case "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "text_delta":
                # The road of nearly every token.
                return (Chunk("text", delta["text"]),) if delta["text"] else ()
            return _delta(event["index"], delta)
        case "content_block_start":
            return _start(event["index"], event["content_block"])
        case "message_start":
            return _tokens(event["message"].get("usage"))
        case "message_delta":
            reason = event["delta"].get("stop_reason")
            finish = (FinishStep(_REASONS.get(reason, reason)),) if reason else ()
            return (*finish, *_tokens(event.get("usage")))
        case "message_stop":
            return (FinishStep(),)
        case "error":
            raise StreamError(body_failure(event))
        case _:
            return ()


def _delta(index: int, delta: Event) -> Sequence[Step]:
    match delta["type"]:
        case "thinking_delta":
            text = delta["thinking"]
            return (_thought(text), SignedBlock(index, {}, {"thinking": text})) if text else ()
        case "signature_delta":
            return (SignedBlock(index, {}, {"signature": delta["signature"]}),)
        case "input_json_delta":
            return (CallPiece(index, arguments=delta["partial_json"]),)
        case _:
            return ()


def _start(index: int, block: Event) -> Sequence[Step]:
    match block["type"]:
        case "text":
            place = SignedBlock(index, {"type": "text"}, optional=True)
            return (place, Chunk("text", block["text"])) if block.get("text") else (place,)
        case "thinking":
            grows = {"thinking": block.get("thinking", ""), "signature": block.get("signature", "")}
            said = (_thought(grows["thinking"]),) if grows["thinking"] else ()
            return (*said, SignedBlock(index, {"type": "thinking"}, grows))
        case "redacted_thinking":
            return (SignedBlock(index, dict(block)),)
        case "tool_use":
            whole = json.dumps(block["input"]) if block.get("input") else ""
            return (CallPiece(index, block["name"], whole, block.get("id")),)
        case _:
            return ()


def _thought(text: str) -> Chunk:
    """Current models show a summary of what they think."""
    return Chunk("text", thoughts=(ThoughtPart(text, "summary"),))


def _tokens(usage: Event | None) -> Sequence[TokenCount]:
    """What was read from or written to the cache is input too."""
    if not usage:
        return ()
    read_in = usage.get("input_tokens")
    if read_in is not None:
        cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
        read_in += sum(usage.get(name) or 0 for name in cached)
    return (TokenCount(read_in, usage.get("output_tokens")),)
