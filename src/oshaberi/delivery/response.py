"""One response: what lasts from stream to stream of a turn (spec 04).

A tool call ends a stream, not the response: reply, limits, pacing and sprites continue. Anybody may
read a field, but only the methods here write it.
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
    """A request that could not be sent at once: when it was ready, and when it was sent."""

    wanted_at: float
    left_at: float


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ReplyRule:
    """Which messages reply to the question, if the stream answers one."""

    is_due: Callable[[], bool] = _always
    """Called before a message that may be a reply is sent. Returns whether it should be one."""
    every: bool = False
    """Every message replies, not only the first."""


@dataclass(slots=True)
class Voice:
    """The name under which the response speaks. Belongs to the `MessagePoster`."""

    replied: bool = False
    """Whether the first message, which may reply, was sent."""
    webhook_lost: bool = False
    spoken_as: WebhookFace | None = None
    """The name that the last message showed in bold, because there was no webhook."""


def _fresh_key() -> str:
    return secrets.token_hex(6)


@dataclass(slots=True)
class ResponseState:
    """The state of one response. `key` makes its nonces unique."""

    key: str = field(default_factory=_fresh_key)
    reply_rule: ReplyRule = field(default_factory=ReplyRule)
    indicator: TypingIndicator = field(default_factory=TypingIndicator)
    voice: Voice = field(default_factory=Voice)

    sent: int = 0
    first_sent_at: float | None = None
    last_sent_at: float | None = None
    messages: list[Sent] = field(default_factory=list)
    notice_colour: int | None = None
    """The colour of notices around this answer; None: the usual one."""
    notices: list[Sent] = field(default_factory=list)
    """Messages around the answer: who is answered, what went wrong."""
    limit_waits: list[LimitWait] = field(default_factory=list)
    sprites: list[SentSprite] = field(default_factory=list)
    limit_shown: bool = False
    attached: str = ""
    """The text that was sent as a file because of the limit: `/continue` can send it as
    messages."""
    numbered: int = 0
    tables: int = 0

    first_token_at: float | None = None
    """When the model's first words or thoughts came (loop time)."""
    carry: Any = None
    """What the last text engine hands to the next one."""
    chose_silence: bool = False
    """The model said, by a marker or a tool, that it has nothing (more) to say."""
    silence_reason: str = ""
    """Why, if it said so."""

    # -- what delivery adds ---------------------------------------------------------------------

    def next_number(self) -> int:
        self.numbered += 1
        return self.numbered

    def next_table(self) -> int:
        self.tables += 1
        return self.tables

    def nonce(self, number: int | None = None) -> str:
        """Return the nonce of a message; without a number, of a new one."""
        return f"{self.key}-{self.next_number() if number is None else number}"

    def note_sent(self, sent: Sent, now: float) -> None:
        """Note a new message of the answer."""
        self.sent += 1
        self.messages.append(sent)
        self.last_sent_at = now
        if self.first_sent_at is None:
            self.first_sent_at = now

    def note_edit(self, now: float) -> None:
        """Note that a message of the answer has grown."""
        self.last_sent_at = now

    def note_deleted(self, sent: Sent) -> None:
        """Note that a message of the answer was deleted, because none of its text was kept."""
        self.sent -= 1
        self.messages.remove(sent)

    def note_sprite(self, sprite: SentSprite) -> None:
        self.sprites.append(sprite)

    def note_notice(self, sent: Sent) -> None:
        self.notices.append(sent)

    def note_notice_deleted(self, sent: Sent) -> None:
        self.notices.remove(sent)

    def note_limit_wait(self, wanted_at: float, left_at: float) -> None:
        self.limit_waits.append(LimitWait(wanted_at, left_at))

    def note_attached(self, text: str) -> None:
        self.attached = text

    def take_limit_notice(self) -> bool:
        """Return whether the notice of the limit is due: once per response."""
        is_due, self.limit_shown = not self.limit_shown, True
        return is_due

    @property
    def first_url(self) -> str | None:
        return next((sent.url for sent in self.messages if sent.url is not None), None)

    def has_sent(self, message_id: int) -> bool:
        """Return whether a message or a notice of the response has this id."""
        return any(one.id == message_id for one in (*self.messages, *self.notices))

    # -- what a stream or a tool adds -----------------------------------------------------------

    def note_stream(self, carry: Any, first_token_at: float | None) -> None:
        """Note the end of a stream, and what its engine hands to the next one."""
        self.carry = carry
        if self.first_token_at is None:
            self.first_token_at = first_token_at

    def choose_silence(self, reason: str | None = None) -> None:
        """Note that the model has nothing (more) to say, and why, if it can say why."""
        self.chose_silence = True
        if reason is not None:
            self.silence_reason = reason

    def branch(self) -> ResponseState:
        """Return the state of a reply beside the answer, which counts towards its limits.

        It shares the numbers and the journal of the response. `join` adds what it has sent.
        """
        return _Branch(self)

    def join(self, branch: ResponseState) -> None:
        self.indicator.message_came()
        self.sent += len(branch.messages)
        self.messages += branch.messages
        self.sprites += branch.sprites
        self.last_sent_at = branch.last_sent_at
        self.voice.webhook_lost = self.voice.webhook_lost or branch.voice.webhook_lost


class _Branch(ResponseState):
    def __init__(self, whole: ResponseState) -> None:
        super().__init__(
            key=whole.key,
            voice=Voice(webhook_lost=whole.voice.webhook_lost),
            sent=whole.sent,
            last_sent_at=whole.last_sent_at,
        )
        self._whole = whole

    def next_number(self) -> int:
        return self._whole.next_number()
