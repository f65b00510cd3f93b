"""The protocol of a sink, the values it takes, the errors it may raise, and a place with its sink.

A sink makes one request per call and never repeats it by itself: delivery/exactly_once.py
alone decides what to do about a failure. Each error says whether the outcome is known.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from oshaberi.errors import OshaberiError
from oshaberi.text.config import Known, Persona

Via = Literal["bot", "webhook"]


@dataclass(frozen=True, slots=True)
class WebhookFace:
    """The name and avatar of a webhook message."""

    username: str
    avatar_url: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """An attachment. `source` is the text it was made from; pictures have a size."""

    name: str
    content: bytes = field(repr=False)
    source: str = ""
    alt: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Embed:
    """A notice of ours, never the model's own words."""

    title: str
    description: str = ""
    offers_retry: bool = False
    """Whether a button under it asks for the answer once more."""
    colour: int | None = None
    """As 0xRRGGBB; None is the usual colour of notices."""


@dataclass(frozen=True, slots=True)
class PostButton:
    """A button under a message. Whoever carries out its action checks who pressed it."""

    label: str
    custom_id: str


@dataclass(frozen=True, slots=True)
class Post:
    """One message as it is to appear. The nonce is the same for every attempt."""

    nonce: str
    content: str = ""
    files: tuple[File, ...] = ()
    embed: Embed | None = None
    face: WebhookFace | None = None
    reply: bool = False
    silent: bool = False
    suppress_embeds: bool = False
    buttons: tuple[PostButton, ...] = ()

    @property
    def via(self) -> Via:
        return "bot" if self.face is None else "webhook"


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that was sent. Without an id it has been deleted since."""

    id: int | None
    url: str | None = None
    via: Via = "bot"


RequestKind = Literal["send", "webhook_send", "edit", "webhook_edit", "typing"]


@dataclass(frozen=True, slots=True)
class RequestRoom:
    """How many requests of one kind a channel takes until its bucket resets (loop time)."""

    limit: int
    remaining: int
    resets_at: float
    noted_at: float

    def is_empty(self, now: float) -> bool:
        """Return whether Discord would refuse the next request."""
        return self.remaining <= 0 and now < self.resets_at


class SinkError(OshaberiError):
    """The base class of errors that a sink raises on purpose."""


class DiscordRefusalError(SinkError):
    """Discord refused the request, and nothing was created. `code` is Discord's."""

    def __init__(self, code: int, message: str = "", retry_after_ms: int | None = None) -> None:
        super().__init__(message or f"Discord refused with code {code}")
        self.code = code
        self.retry_after_ms = retry_after_ms


class AmbiguousError(SinkError):
    """It is unknown whether the message was created: 5xx, a lost connection, a timeout."""


class UnsentError(AmbiguousError):
    """The request failed before it reached Discord, so nothing was created: no connection."""


class SinkAwayError(SinkError):
    """Nothing can be sent anywhere for now, and nothing was sent.

    Waiting for `patience_s` makes sense.
    """

    def __init__(self, message: str, patience_s: float) -> None:
        super().__init__(message)
        self.patience_s = patience_s


class ArrivalUnknownError(SinkError):
    """The channel's history cannot be read, so it is unknown what arrived."""


class WireState:
    """Whether a request has been sent. A sink that waits for a rate limit calls `hold`.

    A request that has not been sent can be withdrawn on a stop (spec 04 O1).
    """

    __slots__ = ("left_at", "on_wire")

    def __init__(self, now: float) -> None:
        self.on_wire = True
        self.left_at = now

    def hold(self) -> None:
        self.on_wire = False

    def leave(self, now: float) -> None:
        self.on_wire = True
        self.left_at = now


class Sink(Protocol):
    """One channel. Only calls of `typing` may overlap with others.

    A call is cancelled if it gets no answer, or by a stop before its request was sent.
    """

    @property
    def display_name(self) -> str | None:
        """Return the bot's name in this channel."""

    def room(self, kind: RequestKind) -> RequestRoom | None:
        """Return the known state of the bucket for such requests; None if unknown or unlimited."""

    async def send(self, post: Post, wire: WireState) -> Sent:
        """Create the message; through the open webhook if it has a `face`."""

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        """Edit a message of ours. Mentions in an edit never notify."""

    async def delete(self, sent: Sent, wire: WireState) -> None:
        """Delete a message of ours whose text is not kept (live mode)."""

    async def typing(self, ms: int | None) -> None:
        """Show the indicator: for `ms` before a message, or with None just keep it alive."""

    async def reply_notice(self, face: WebhookFace, wire: WireState) -> Sent | None:
        """Send the reply notice through the webhook, because webhooks cannot reply.

        Returns None if the response answers no message.
        """

    async def open_webhook(self) -> None:
        """Find or create the channel's webhook. A refusal means that none is available."""

    async def forget_webhook(self) -> None:
        """Forget a deleted webhook, so that the next `open_webhook` looks again."""

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        """Return messages since then (loop time) that may be this post, oldest first."""


async def _nothing_to_close() -> None:
    return


@dataclass(frozen=True, slots=True)
class DeliveryTarget:
    """A sink and what it needs for the answer. `close` is called after the answer's last stream."""

    sink: Sink
    channel: str
    """The id of the channel, by which an answer is stopped."""
    replies: bool = False
    """Whether the first message replies to another; the sink knows to which."""
    known: tuple[Known, ...] = ()
    emojis: tuple[str, ...] = ()
    persona: Persona | None = None
    """Who speaks if the caller does not say it: the name of a webhook."""
    close: Callable[[], Awaitable[None]] = _nothing_to_close
