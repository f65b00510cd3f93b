"""Reads one event of Anthropic's stream. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from oshaberi.chunks import Chunk, ThoughtPart, text_chunk
from oshaberi.providers.anthropic.request import INPUT_PIECES
from oshaberi.providers.wire.errors import StreamError, body_failure
from oshaberi.providers.wire.sse_decoder import DONE
from oshaberi.providers.wire.steps import (
    CallPiece,
    CitedPage,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
    token_count,
)

Event = Mapping[str, Any]

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}

_READ_IN = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def read(event: Event) -> Sequence[Step]:
    """Read one event. Unknown kinds are ignored, because the API may add some.

    Tools that the API runs itself (`server_tool_use`, `mcp_tool_use`) and their results are only
    kept to be sent back.
    """
    kind = event.get("type")
    if kind == "content_block_delta":
        delta = event["delta"]
        if delta["type"] == "text_delta":
            # Fast path for nearly every token.
            text = delta["text"]
            return (text_chunk(text),) if text else ()
        return _delta(event["index"], delta)
    match kind:
        case "content_block_start":
            return _start(event["index"], event["content_block"])
        case "message_start":
            return _begun(event["message"])
        case "message_delta":
            reason = event["delta"].get("stop_reason")
            finish = (FinishStep(_REASONS.get(reason, reason)),) if reason else ()
            return (*finish, *_tokens(event.get("usage")))
        case "message_stop":
            return (FinishStep(),)
        case "message":
            return _whole(event)
        case "ping":
            return ()
        case _:
            return _of_another_kind(event)


def _of_another_kind(event: Event) -> Sequence[Step]:
    if event is DONE:
        # Some servers of this format end as OpenAI's do.
        return (FinishStep(),)
    if event.get("error"):
        raise StreamError(body_failure(event))
    return ()


def _begun(message: Event) -> Sequence[Step]:
    """Read the first event: the token count, and calls that the API's code execution made."""
    if message.get("content"):
        return _whole(message)
    return _tokens(message.get("usage"))


def _whole(message: Event) -> Sequence[Step]:
    """Read a whole answer, from a server that does not stream."""
    steps: list[Step] = []
    for index, block in enumerate(message.get("content") or ()):
        steps += _start(f"whole {index}", block)
        steps += _citations(block.get("citations"))
    reason = message.get("stop_reason")
    finish = (FinishStep(_REASONS.get(reason, reason)),) if reason else ()
    return (*steps, *finish, *_tokens(message.get("usage")))


def _delta(index: int, delta: Event) -> Sequence[Step]:
    match delta["type"]:
        case "thinking_delta":
            text = delta["thinking"]
            return (_thought(text), SignedBlock(index, {}, {"thinking": text})) if text else ()
        case "signature_delta":
            return (SignedBlock(index, {}, {"signature": delta["signature"]}),)
        case "input_json_delta":
            piece = delta["partial_json"]
            return (
                CallPiece(index, arguments=piece, only_continues=True),
                # The API's own tools: their calls go back as they came.
                SignedBlock(
                    f"own {index}", {}, {INPUT_PIECES: piece}, only_continues=True, droppable=True
                ),
            )
        case "citations_delta":
            return _citations((delta.get("citation"),))
        case _:
            return ()


def _start(index: int | str, block: Event) -> Sequence[Step]:
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
            caller = block.get("caller") or {}
            # A call by the API's own code, not by the model: its result goes back to that code.
            by_code = caller.get("type", "direct") != "direct"
            kept = {"type": "tool_use"} | ({"caller": caller} if by_code else {})
            place = SignedBlock(index, kept, optional=not by_code)
            return (CallPiece(index, block["name"], whole, block.get("id")), place)
        case _:
            # The API's own tools and their results, which it wants back with the next round.
            return (SignedBlock(f"own {index}", dict(block), droppable=True),)


def _citations(citations: Any) -> Sequence[CitedPage]:
    """Return the citations of web pages. Those of documents have no URL."""
    return tuple(
        CitedPage(citation["url"], citation.get("title") or "")
        for citation in citations or ()
        if citation and citation.get("url")
    )


def _thought(text: str) -> Chunk:
    """Return a thought. Current models send a summary of their thoughts."""
    return Chunk("text", thoughts=(ThoughtPart(text, "summary"),))


def _tokens(usage: Any) -> Sequence[TokenCount]:
    """Return the token count. Tokens read from or written to the cache count as input."""
    if not usage or not isinstance(usage, Mapping):
        return ()
    read_in = () if usage.get("input_tokens") is None else (usage.get(name) for name in _READ_IN)
    cached = (usage.get("cache_read_input_tokens"),)
    stored = (usage.get("cache_creation_input_tokens"),)
    return (token_count(read_in, (usage.get("output_tokens"),), cached, stored),)
