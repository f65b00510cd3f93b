"""Rewrites a history for models without tools, parallel calls, a system role or images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.chat_dialogue import system_text
from oshaberi.providers.request.context_items import (
    ContextItem,
    ImagePart,
    Item,
    Part,
    TextPart,
    ToolRound,
    said,
)
from oshaberi.providers.request.model_request import Request

IMAGE_NOTE = TextPart("[image]")


def for_model(request: Request, capabilities: ModelCapabilities) -> Request:
    """Return the request in a form that a model with these capabilities accepts."""
    items: Sequence[Item] = request.items
    if not capabilities.images:
        items = [_without_images(item) for item in items]
    if not capabilities.tools:
        items = [told for item in items for told in _without_calls(item)]
    elif not capabilities.parallel_calls:
        items = [one for item in items for one in _one_call_each(item)]
    if capabilities.system_role == "user":
        items = _without_system(items)
    tools = request.tools if capabilities.tools else ()
    return replace(request, items=tuple(items), tools=tools)


def has_images(items: Iterable[Item]) -> bool:
    return any(
        isinstance(part, ImagePart)
        for item in items
        if isinstance(item, ContextItem)
        for part in item.parts
    )


def _without_images(item: Item) -> Item:
    if isinstance(item, ToolRound):
        return item
    return replace(item, parts=tuple(map(_noted, item.parts)))


def _noted(part: Part) -> Part:
    return IMAGE_NOTE if isinstance(part, ImagePart) else part


def _without_calls(item: Item) -> list[Item]:
    """Return tool results as a user's text, for a model that cannot call tools."""
    if not isinstance(item, ToolRound):
        return [item]
    pairs = zip(item.calls, item.results, strict=False)
    found = "\n".join(f"[{call.name}: {result.content}]" for call, result in pairs)
    before = [said("assistant", item.text)] if item.text else []
    return [*before, said("user", found)]


def _one_call_each(item: Item) -> list[Item]:
    """Split calls that were made together into one round each."""
    if not isinstance(item, ToolRound) or len(item.calls) < 2:
        return [item]
    pairs = list(zip(item.calls, item.results, strict=False))
    first, rest = pairs[0], pairs[1:]
    return [
        replace(item, calls=(first[0],), results=(first[1],)),
        *(ToolRound((call,), (result,)) for call, result in rest),
    ]


def _without_system(items: Sequence[Item]) -> Sequence[Item]:
    system = system_text(items)
    rest = [i for i in items if isinstance(i, ToolRound) or i.role != "system"]
    return [said("user", system), *rest] if system else rest
