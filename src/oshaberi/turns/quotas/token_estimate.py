"""Estimates the tokens of a request and its answer, if the provider does not report them. Pure.

Before a request the count is unknown, and a stopped stream never reports it. Three bytes per token
is slightly too high for English and about right for Japanese, so that a quota is not exceeded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from oshaberi.chunks import ToolCall, Usage
from oshaberi.providers.request.context_items import (
    ContextItem,
    FilePart,
    ImagePart,
    Item,
    Part,
    TextPart,
)
from oshaberi.providers.request.model_request import Request
from oshaberi.stream.stream_result import StreamResult

BYTES_PER_TOKEN = 3
TOKENS_PER_IMAGE = 1000


def estimated_input(request: Request) -> int:
    declared = (f"{t.name} {t.description} {_json(t.parameters)}" for t in request.tools)
    return sum(map(_of_item, request.items)) + sum(map(_of_text, declared))


def used_tokens(result: StreamResult, input_tokens: int) -> Usage:
    """Return the provider's count, else an estimate. A refused request used none."""
    if result.usage is not None:
        return result.usage
    texts = [result.accumulated_text, result.undelivered, *result.details]
    texts += [*result.thought_log.texts, *map(_call, result.calls)]
    written = sum(map(_of_text, texts))
    if result.status == "error" and not written:
        return Usage()
    return Usage(input_tokens, written)


def _of_item(item: Item) -> int:
    if isinstance(item, ContextItem):
        return sum(map(_of_part, item.parts))
    texts: Iterable[str] = (
        item.text,
        *map(_call, item.calls),
        *(result.content for result in item.results),
        *(thought.text for thought in item.thoughts),
    )
    return sum(map(_of_text, texts))


def _of_part(part: Part) -> int:
    match part:
        case TextPart():
            return _of_text(part.text)
        case ImagePart():
            return TOKENS_PER_IMAGE
        case FilePart():
            return _of_text(part.text or "") + len(part.data or b"") // BYTES_PER_TOKEN


def _of_text(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def _call(call: ToolCall) -> str:
    return f"{call.name} {_json(call.args)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
