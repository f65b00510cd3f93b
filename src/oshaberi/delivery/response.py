"""The state of a whole response, passed from stream to stream of one turn (spec 04).

A tool call ends a stream, not the response: reply, limits, pacing and sprites continue.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from oshaberi.delivery.sink import Sent, WebhookFace
from oshaberi.delivery.typing_indicator import TypingIndicator


@dataclass(frozen=True, slots=True)
class SentSprite:
    """The sprite of a sent message, to be stored with its id."""

    message_id: int
    persona: str
    sprite: str


@dataclass(frozen=True, slots=True)
class LimitWait:
    """A request that could not leave at once: when it was wanted, and when it left."""

    wanted_at: float
    left_at: float


def _always() -> bool:
    return True


def _fresh_key() -> str:
    return secrets.token_hex(6)


@dataclass(slots=True)
class ResponseState:
    """The state of one response. `key` makes its nonces unique."""

    key: str = field(default_factory=_fresh_key)
    replied: bool = False
    """Whether the first message, which may reply, was sent."""
    reply_is_due: Callable[[], bool] = _always
    """Called before a message that may be a reply is sent: whether it shall be one."""
    replies_always: bool = False
    """Every message replies, not only the first."""
    sent: int = 0
    first_token_at: float | None = None
    """When the model's first words or thoughts came (loop time)."""
    first_sent_at: float | None = None
    last_sent_at: float | None = None
    first_url: str | None = None
    messages: list[Sent] = field(default_factory=list)
    notices: list[Sent] = field(default_factory=list)
    """Messages around the answer: who is answered, what went wrong."""
    indicator: TypingIndicator = field(default_factory=TypingIndicator)
    limit_waits: list[LimitWait] = field(default_factory=list)
    sprites: list[SentSprite] = field(default_factory=list)
    text_parts: list[str] = field(default_factory=list)
    carry: Any = None
    """What the last text engine hands to the next one."""
    limit_shown: bool = False
    attached: str = ""
    """What went out as a file because of the limit: `/continue` can send it as messages."""
    webhook_lost: bool = False
    spoken_as: WebhookFace | None = None
    """Whose name the last message showed in bold, for want of a webhook."""
    chose_silence: bool = False
    """The model said, by a marker or a tool, that it has nothing (more) to say."""
    silence_reason: str = ""
    """Why, if it said so."""
    numbered: int = 0
    tables: int = 0

    def next_number(self) -> int:
        self.numbered += 1
        return self.numbered

    def has_sent(self, message_id: int) -> bool:
        """Return whether a message or a notice of the response has this id."""
        return any(one.id == message_id for one in (*self.messages, *self.notices))

    def nonce(self, number: int) -> str:
        return f"{self.key}-{number}"
