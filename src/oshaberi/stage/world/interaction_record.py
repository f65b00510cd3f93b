"""Interactions: a command, a button or a modal that a person used, and the bot's answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from oshaberi.stage.world.discord_records import Json


class InteractionType(IntEnum):
    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL = 5


class InteractionReply(IntEnum):
    MESSAGE = 4
    DEFER = 5
    DEFER_UPDATE = 6
    UPDATE = 7
    CHOICES = 8
    MODAL = 9


@dataclass(slots=True)
class Interaction:
    id: int
    token: str
    type: InteractionType
    user_id: int
    channel_id: int
    data: Json
    at: float
    message_id: int | None = None
    """The message whose button was pressed."""
    reply: InteractionReply | None = None
    original_id: int | None = None
    choices: list[Json] = field(default_factory=list)
    modal: Json | None = None
    followups: list[int] = field(default_factory=list)
