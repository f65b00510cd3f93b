"""The values that repositories take and return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from oshaberi.delivery.bookkeeping.send_journal import JournalledPost, JournalledStream, PostState

__all__ = [
    "TAKEN_BACK",
    "Exchange",
    "Fact",
    "JournalledPost",
    "JournalledStream",
    "KeyRecord",
    "ModelRecord",
    "PersonaRecord",
    "PostState",
    "SpriteRecord",
    "TurnRecord",
    "UsageRecord",
]


@dataclass(frozen=True, slots=True)
class SpriteRecord:
    """A face of a persona."""

    name: str
    avatar_url: str | None = None
    is_identity: bool = False


@dataclass(frozen=True, slots=True)
class PersonaRecord:
    """Somebody the bot can be. The default persona of a server speaks as the bot itself.

    `id` is 0 until it is stored; `server_id` is 0 for direct messages.
    """

    server_id: int
    name: str
    prompt: str = ""
    aliases: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    avatar_url: str | None = None
    samples: tuple[tuple[str, str], ...] = ()
    """Pairs: what somebody said, what the persona answered."""
    sprites: tuple[SpriteRecord, ...] = ()
    is_default: bool = False
    id: int = 0


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One link of a chain of models; `position` 0 is tried first.

    It belongs to a server, or (`server_id` 0) to the direct messages of `user_id`. Those of the
    operator's settings have neither.
    """

    server_id: int
    provider: str
    model: str
    base_url: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, `max_output_tokens`, `thinking`."""
    position: int = 0
    id: int = 0
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """An API key, decrypted. `rest_until` is when it may be tried again after it failed.

    It belongs to a server, or (`server_id` 0) to the direct messages of `user_id`.
    """

    server_id: int
    provider: str
    secret: str = field(repr=False)
    label: str = ""
    rest_until: datetime | None = None
    id: int = 0
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """Short-term memory: what was asked and answered; `details` is what the model kept aside."""

    channel_id: int
    user_id: int
    asked: str
    answered: str
    details: str = ""
    persona: str = ""
    at: datetime | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class Fact:
    """Long-term memory: something a user asked to keep, about them or for the whole server."""

    server_id: int
    text: str
    user_id: int | None = None
    """None: it belongs to the server."""
    at: datetime | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Tokens of one model in one server."""

    server_id: int
    provider: str
    model: str
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


TAKEN_BACK = "taken back"
"""The status of a turn whose messages were deleted on request."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """An answered message: what `/continue`, `/regenerate` and "why" need to know of it."""

    channel_id: int
    server_id: int
    user_id: int
    asked_id: int | None
    persona: str
    message_ids: tuple[int, ...] = ()
    """What the bot wrote, oldest first."""
    status: str = ""
    undelivered: str = ""
    why: str = ""
    at: datetime | None = None
    answer_id: int | None = None
    """The first turn of the answer, if this one continues it."""
    id: int = 0

    @property
    def first_id(self) -> int:
        """The same for all turns of one answer."""
        return self.answer_id or self.id
