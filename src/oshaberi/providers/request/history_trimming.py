"""Fits a conversation into a model's window: drops the oldest first, never system (spec 01)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from oshaberi.providers.request.context_items import (
    ContextItem,
    FilePart,
    ImagePart,
    Item,
    Part,
    TextPart,
    ToolRound,
)
from oshaberi.providers.request.model_request import Request

Count = Callable[[str], int]

PER_ITEM = 6
PER_IMAGE = 1600
REPLY = 4096
"""How many tokens are reserved for the answer if its length is not limited."""


def estimate(text: str) -> int:
    """Estimate the tokens of a text, rather too high than too low: a third of its bytes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // 3)


def trimmed(request: Request, window: int | None, count: Count = estimate) -> tuple[Item, ...]:
    """Return the items that fit. The question always stays, however long it is."""
    dropped = overflowing(request, window, count)
    if not dropped:
        return request.items
    return tuple(item for index, item in enumerate(request.items) if index not in dropped)


def overflowing(
    request: Request, window: int | None, count: Count = estimate, share: float = 1.0
) -> frozenset[int]:
    """Return the indexes of the items to drop.

    If some must be dropped, it drops so many that the rest takes at most `share` of the room.
    """
    if window is None:
        return frozenset()
    costs = [cost(item, count) for item in request.items]
    room = window - (request.max_output_tokens or min(REPLY, window // 4))
    room -= declared_cost(request, count)
    if sum(costs) <= room:
        return frozenset()
    over = sum(costs) - room * share
    dropped: set[int] = set()
    for index in _expendable(request.items):
        if over <= 0:
            break
        over -= costs[index]
        dropped.add(index)
    return frozenset(dropped)


def declared_cost(request: Request, count: Count = estimate) -> int:
    """Return the tokens of the offered tools."""
    return count(json.dumps([dict(tool.parameters) for tool in request.tools], default=str))


def text_cost(request: Request) -> int:
    """Estimate the tokens of a request; 0 if it has images or files, whose cost is unknown."""
    parts = [p for item in request.items if isinstance(item, ContextItem) for p in item.parts]
    if any(not isinstance(part, TextPart) for part in parts):
        return 0
    return sum(cost(item) for item in request.items) + declared_cost(request)


def cost(item: Item, count: Count = estimate) -> int:
    """Return the tokens of one item, with what the API adds around it."""
    if isinstance(item, ContextItem):
        return PER_ITEM + sum(_part(part, count) for part in item.parts)
    calls = sum(PER_ITEM + count(call.name + json.dumps(dict(call.args))) for call in item.calls)
    results = sum(PER_ITEM + count(result.content) for result in item.results)
    kept = sum(count(part.signature) for part in item.thoughts if part.signature)
    return calls + results + kept + count(item.text)


def _part(part: Part, count: Count) -> int:
    match part:
        case ImagePart():
            return PER_IMAGE
        case FilePart(name=name, text=text, data=data):
            return count(name) + count(text or "") + len(data or b"") // 3
        case _:
            return count(part.text)


def _expendable(items: Sequence[Item]) -> list[int]:
    """Return the items that may be dropped, in order: history, samples, what was said later.

    Messages after the question go last, because they may change what is asked. The tool calls of
    this turn always stay.
    """
    before = range(_current(items))
    old = [i for i in before if isinstance(items[i], ToolRound) or _tag(items[i]) == "history"]
    samples = [i for i in before if _tag(items[i]) == "sample"]
    return [i for i in old + samples + _said_since(items) if _role(items[i]) != "system"]


def _said_since(items: Sequence[Item]) -> list[int]:
    """Return the messages after the question, oldest first, if an item is tagged as current."""
    tagged = [i for i, item in enumerate(items) if _tag(item) == "current"]
    after = range(tagged[0], len(items)) if tagged else range(0)
    return [i for i in after if _tag(items[i]) == "history"]


def _current(items: Sequence[Item]) -> int:
    """Return where the current turn begins: by its tag, else at the user's last item."""
    tagged = [i for i, item in enumerate(items) if _tag(item) == "current"]
    if tagged:
        return tagged[0]
    asked = [i for i, item in enumerate(items) if _role(item) == "user"]
    return asked[-1] if asked else len(items)


def _tag(item: Item) -> str:
    return item.tag if isinstance(item, ContextItem) else ""


def _role(item: Item) -> str:
    return item.role if isinstance(item, ContextItem) else ""
