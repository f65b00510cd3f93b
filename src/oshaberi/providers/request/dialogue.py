"""Arranges a conversation for chat APIs, and turns into text what an API cannot represent."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.model_request import (
    ContextItem,
    FilePart,
    ImagePart,
    Item,
    Part,
    Request,
    TextPart,
    ToolRound,
    said,
)

# Turns images and files into text where an API has no better form for them.


def as_text(part: Part) -> str:
    """Return a text for any part: its own, or a note."""
    match part:
        case TextPart(text):
            return text
        case FilePart(name=name, text=text) if text is not None:
            return f"[file {name}]\n{text}\n[end of {name}]"
        case FilePart(name=name, mime=mime):
            return f"[file {name} ({mime}), not shown]"
        case ImagePart():
            return "[an image, not shown]"


def base64_of(data: bytes) -> str:
    return b64encode(data).decode("ascii")


# Arranges a conversation for chat APIs: one system text, then alternating roles.


GAP = "…"
"""The text of a user's turn that an API requires although no user has spoken."""


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """What one side says in one turn."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]
    ends_stable: bool = False
    """Whether what an API should cache ends here (`stable_end`)."""


def system_text(items: Iterable[Item]) -> str:
    """Return all system items as one text: many chat templates take only one, at the start."""
    texts = (
        item.text.strip()
        for item in items
        if isinstance(item, ContextItem) and item.role == "system"
    )
    return "\n\n".join(text for text in texts if text)


def stable_end(items: Sequence[Item]) -> int:
    """Return how many items the next turn's request will begin with, too.

    These are the items before the notes of this turn and the question. An API that caches prompts
    is told where they end.
    """
    asked = next((n for n, item in enumerate(items) if _is_tagged(item, "current")), len(items))
    ends = [n + 1 for n in range(asked) if _is_tagged(items[n], "history", "sample")]
    return ends[-1] if ends else 0


def _is_tagged(item: Item, *tags: str) -> bool:
    return isinstance(item, ContextItem) and item.tag in tags


def turns(
    items: Iterable[Item], *, user_first: bool = False, stable: int = 0
) -> list[DialogueTurn | ToolRound]:
    """Return the dialogue, with neighbouring turns of one role joined.

    A tool round begins as the assistant's turn and ends as the user's. With `user_first` the
    dialogue begins with the user. If so many items are `stable`, the turn that ends them says so,
    and the texts of users stay apart: what is said next changes none of the parts before it.
    """
    joined: list[DialogueTurn | ToolRound] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, ToolRound):
            joined.append(item)
        elif item.role != "system" and any(map(_says_something, item.parts)):
            _join(joined, DialogueTurn(item.role, item.parts), is_apart=stable > 0)
        if number == stable and joined and isinstance(joined[-1], DialogueTurn):
            joined[-1] = replace(joined[-1], ends_stable=True)
    if user_first and joined and not _is_user(joined[0]):
        joined.insert(0, DialogueTurn("user", (TextPart(GAP),)))
    return joined


def _join(joined: list[DialogueTurn | ToolRound], turn: DialogueTurn, *, is_apart: bool) -> None:
    last = joined[-1] if joined else None
    if not isinstance(last, DialogueTurn) or last.role != turn.role:
        joined.append(turn)
        return
    is_apart = is_apart and turn.role == "user"
    if is_apart:
        turn = replace(turn, parts=_on_a_new_line(last.parts, turn.parts))
    if last.ends_stable:
        joined.append(turn)
    else:
        parts = (*last.parts, *turn.parts) if is_apart else _merged(last.parts, turn.parts)
        joined[-1] = DialogueTurn(turn.role, parts)


def _on_a_new_line(before: Sequence[Part], after: tuple[Part, ...]) -> tuple[Part, ...]:
    """Begin with a line break if one text follows another: APIs join them without one."""
    if before and after and isinstance(before[-1], TextPart) and isinstance(after[0], TextPart):
        return (TextPart(f"\n{after[0].text}"), *after[1:])
    return after


def _merged(before: Sequence[Part], after: Sequence[Part]) -> tuple[Part, ...]:
    """Join the parts. Neighbouring texts become one."""
    if before and after and isinstance(before[-1], TextPart) and isinstance(after[0], TextPart):
        seam = TextPart(f"{before[-1].text}\n{after[0].text}")
        return (*before[:-1], seam, *after[1:])
    return (*before, *after)


def _says_something(part: Part) -> bool:
    return not isinstance(part, TextPart) or bool(part.text.strip())


def _is_user(turn: DialogueTurn | ToolRound) -> bool:
    return isinstance(turn, DialogueTurn) and turn.role == "user"


# Rewrites a history for models without tools, parallel calls, a system role or images.


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
    if items is request.items and tools is request.tools:
        return request
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
