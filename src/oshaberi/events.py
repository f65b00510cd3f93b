"""The values between the steps of the pipeline: the text engine returns them, in order.

Frozen, comparable and without behaviour: a step takes values and returns values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Boundary = Literal[
    "code_open",
    "code_close",
    "newline",
    "period",
    "overflow",
    "attachment",
    "tool_call",
    "stop",
    "final",
]
IdentityKind = Literal["sprite", "identity_sprite", "copied"]
Alignment = Literal["left", "center", "right", "none"]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Identity:
    """The name and avatar of a message that is not sent as the persona itself."""

    username: str
    avatar_url: str | None
    kind: IdentityKind
    label: str
    """What the model wrote and will see again: `Tomori (mad)`."""
    sprite: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One Discord message, exactly as it will be sent."""

    text: str
    boundary: Boundary
    identity: Identity | None = None
    segment: int = 0
    span: Span = (0, 0)
    labelled: bool = False
    """It begins a line that the model labelled: history shows `identity.label` before it, once."""


@dataclass(frozen=True, slots=True)
class Attachment(Message):
    """A picture or a sound of the answer, which is sent as a file.

    `text` stands for it in the history, and in the channel if it cannot be sent.
    """

    name: str = ""
    content: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A complete Markdown table, to be shown as a picture or as aligned code."""

    source: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alignments: tuple[Alignment, ...]
    identity: Identity | None = None
    segment: int = 0
    span: Span = (0, 0)
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """The content of a think block. Never shown."""

    text: str


@dataclass(frozen=True, slots=True)
class Details:
    """The content of a details block, for memory. Never shown."""

    text: str


@dataclass(frozen=True, slots=True)
class SpeakerStop:
    """The model began to speak for somebody else, so the stream must be stopped."""

    label: str


@dataclass(frozen=True, slots=True)
class Withheld:
    """Visible text that was withheld on purpose, and the reason."""

    text: str
    reason: str
    segment: int = 0
    span: Span = (0, 0)


Event = Message | Table | Thought | Details | SpeakerStop | Withheld
