"""Estimates how many tokens a request has: the one rule, for windows and for quotas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import (
    ContextItem,
    FilePart,
    ImagePart,
    Item,
    Part,
    Request,
    ToolDeclaration,
)

Count = Callable[[str], int]
"""Counts the tokens of a text: `text_tokens`, that corrected by past usage, or a tokenizer."""

BYTES_PER_TOKEN = 3
PER_ITEM = 6
PER_IMAGE = 1600


class RequestCost(NamedTuple):
    """The estimated tokens of a request: of each item, in order, and of all its tools."""

    items: tuple[int, ...]
    tools: int

    @property
    def tokens(self) -> int:
        return sum(self.items) + self.tools


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text alone."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)


def request_tokens(request: Request, count: Count = text_tokens) -> int:
    """Estimate the tokens that a model reads, preferably too high rather than too low.

    An estimate that is too low costs more than one that is too high: a request that exceeds the
    window is refused, or a local server silently cuts off its beginning, and a quota is exceeded.
    So:

    - A text has a third of its UTF-8 bytes, rounded up. English has about four bytes a token;
      Japanese, with three bytes a character, has about one token a character.
    - Each message, call, result and tool has 6 more, for its role and what the chat template puts
      around it. For messages like "ok" that is most of what they cost.
    - A tool has its name, its description and its schema. The model reads all three, even if the
      tool takes no parameters.
    - An image has 1600, as for Anthropic one of 1.2 megapixels.
    - A file has its name, its text, and a third of its bytes if it is sent as it is.
    - Of the thoughts only the signature goes back, which contains whatever the API wants to see.

    JSON is counted without `\\u` escapes, as it is sent. `count` replaces the rule for texts, so
    that what an API reported (`TokenCalibration`) corrects it.
    """
    return request_cost(request, count).tokens


def request_cost(request: Request, count: Count = text_tokens) -> RequestCost:
    """Estimate the tokens of a request part by part."""
    items = tuple(item_tokens(item, count) for item in request.items)
    return RequestCost(items, tool_tokens(request.tools, count))


def item_tokens(item: Item, count: Count = text_tokens) -> int:
    """Estimate the tokens of one item of a request."""
    if isinstance(item, ContextItem):
        return PER_ITEM + sum(_part_tokens(part, count) for part in item.parts)
    calls = sum(call_tokens(call, count) for call in item.calls)
    results = sum(PER_ITEM + count(result.content) for result in item.results)
    kept = sum(count(part.signature) for part in item.thoughts if part.signature)
    return calls + results + kept + count(item.text)


def tool_tokens(tools: Iterable[ToolDeclaration], count: Count = text_tokens) -> int:
    """Estimate the tokens of the offered tools."""
    return sum(
        PER_ITEM + count(f"{tool.name} {tool.description} {_json(dict(tool.parameters))}")
        for tool in tools
    )


def call_tokens(call: ToolCall, count: Count = text_tokens) -> int:
    """Estimate the tokens of one call of a tool."""
    return PER_ITEM + count(f"{call.name} {_json(dict(call.args))}")


def _part_tokens(part: Part, count: Count) -> int:
    match part:
        case ImagePart():
            return PER_IMAGE
        case FilePart(name=name, text=text, data=data):
            return count(name) + count(text or "") + len(data or b"") // BYTES_PER_TOKEN
        case _:
            return count(part.text)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
