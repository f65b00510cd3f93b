"""Arranges a conversation for chat APIs: one system text, then alternating roles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from oshaberi.providers.request.context_items import ContextItem, Item, Part, TextPart, ToolRound

GAP = "…"
"""The text of a user's turn that an API requires although no user has spoken."""


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """What one side says in one turn."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


def system_text(items: Iterable[Item]) -> str:
    """Return all system items as one text: many chat templates take only one, at the start."""
    texts = (
        item.text.strip()
        for item in items
        if isinstance(item, ContextItem) and item.role == "system"
    )
    return "\n\n".join(text for text in texts if text)


def turns(items: Iterable[Item], *, user_first: bool = False) -> list[DialogueTurn | ToolRound]:
    """Return the dialogue, with neighbouring turns of one role joined.

    A tool round begins as the assistant's turn and ends as the user's. With `user_first` the
    dialogue begins with the user.
    """
    joined: list[DialogueTurn | ToolRound] = []
    for item in items:
        if isinstance(item, ToolRound):
            joined.append(item)
        elif item.role != "system" and any(map(_says_something, item.parts)):
            _join(joined, DialogueTurn(item.role, item.parts))
    if user_first and joined and not _is_user(joined[0]):
        joined.insert(0, DialogueTurn("user", (TextPart(GAP),)))
    return joined


def _join(joined: list[DialogueTurn | ToolRound], turn: DialogueTurn) -> None:
    last = joined[-1] if joined else None
    if isinstance(last, DialogueTurn) and last.role == turn.role:
        joined[-1] = DialogueTurn(turn.role, _merged(last.parts, turn.parts))
    else:
        joined.append(turn)


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
