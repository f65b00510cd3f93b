"""What a model is shown, independent of its API: messages, tools and tool results.

Values only. The adapter decides which become the system text and which dialogue (spec 01).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from oshaberi.chunks import ThoughtPart, ToolCall

Role = Literal["system", "user", "assistant"]
Tag = Literal["system", "persona", "knowledge", "memory", "sample", "history", "current"]


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image: a URL that has yet to be fetched, or data."""

    url: str | None = None
    data: bytes | None = field(default=None, repr=False)
    mime: str = "image/png"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file attached to a message: its text if it has one, else its bytes."""

    name: str
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)
    mime: str = "application/octet-stream"


Part = TextPart | ImagePart | FilePart


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One piece of what the model is shown. `system` items are never dropped.

    `message_id` is the message from which it was made, if there is one.
    """

    role: Role
    parts: tuple[Part, ...]
    tag: Tag = "history"
    message_id: int | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """Return the text parts alone."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool the model may call; `parameters` is a JSON schema of an object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool; `content` is text or JSON as text."""

    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolRound:
    """A model's turn with tool calls, and the results: `results[i]` is for `calls[i]`.

    The signatures of its thoughts go back only to the `provider` and `model` that made them.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    text: str = ""
    thoughts: tuple[ThoughtPart, ...] = ()
    provider: str | None = None
    model: str | None = None

    def is_of(self, provider: str, model: str | None) -> bool:
        """Tell whether this model made the round. Without a model, the provider decides."""
        return provider == self.provider and (None in (model, self.model) or model == self.model)

    def signature_for(self, provider: str, model: str | None = None) -> str | None:
        """Return the last signature of this turn, if this model made it."""
        if not self.is_of(provider, model):
            return None
        signed = [part.signature for part in self.thoughts if part.signature]
        return signed[-1] if signed else None


Item = ContextItem | ToolRound


def said(role: Role, text: str, tag: Tag = "history") -> ContextItem:
    """Return a context item with one text."""
    return ContextItem(role, (TextPart(text),), tag)
