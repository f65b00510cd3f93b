"""What a model is shown, independent of its API: messages, tools and tool results.

Values only. The adapter decides what becomes system instruction and what dialogue (spec 01).
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
    """An image: at an address that has yet to be fetched, or here."""

    url: str | None = None
    data: bytes | None = field(default=None, repr=False)
    mime: str = "image/png"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file that came with a message. Its text if it has one, else its bytes."""

    name: str
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)
    mime: str = "application/octet-stream"


Part = TextPart | ImagePart | FilePart


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One thing that is said to the model. Never trimmed if it is `system`."""

    role: Role
    parts: tuple[Part, ...]
    tag: Tag = "history"

    @property
    def text(self) -> str:
        """The text parts alone."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool the model may ask for; `parameters` is a JSON schema of an object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered; `content` is text or JSON as text."""

    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolRound:
    """A model's turn that asked for tools, and what they answered: `results[i]` to `calls[i]`.

    The signatures of its thoughts go back to the `provider` that made them, and to no other.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    text: str = ""
    thoughts: tuple[ThoughtPart, ...] = ()
    provider: str | None = None

    def signature_for(self, provider: str) -> str | None:
        """What the adapter put into the last signature of this turn, if it was this one's."""
        if provider != self.provider:
            return None
        signed = [part.signature for part in self.thoughts if part.signature]
        return signed[-1] if signed else None


Item = ContextItem | ToolRound


def said(role: Role, text: str, tag: Tag = "history") -> ContextItem:
    """A context item of one text."""
    return ContextItem(role, (TextPart(text),), tag)
