"""Where messages go: the protocol of a sink, what is handed to it, and how it may fail.

A sink makes one request per call and never repeats it by itself: what to do about a failure is
decided in one place (delivery/posting/exactly_once.py). It says of each failure whether the
outcome is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from oshaberi.errors import OshaberiError

Via = Literal["bot", "webhook"]


@dataclass(frozen=True, slots=True)
class WebhookFace:
    """The name and picture a webhook message carries."""

    username: str
    avatar_url: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """An attachment. `source` is the text it stands for; pictures have a size."""

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


@dataclass(frozen=True, slots=True)
class Post:
    """One message as it is to appear. The nonce stays the same over every attempt."""

    nonce: str
    content: str = ""
    files: tuple[File, ...] = ()
    embed: Embed | None = None
    face: WebhookFace | None = None
    reply: bool = False
    silent: bool = False
    suppress_embeds: bool = False

    @property
    def via(self) -> Via:
        return "bot" if self.face is None else "webhook"


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that is there. Without an id it was there and has been deleted since."""

    id: int | None
    url: str | None = None
    via: Via = "bot"


class SinkError(OshaberiError):
    """The root of what a sink raises on purpose."""


class DiscordRefusalError(SinkError):
    """A definite no: nothing was created. `code` is Discord's."""

    def __init__(self, code: int, message: str = "", retry_after_ms: int | None = None) -> None:
        super().__init__(message or f"Discord refused with code {code}")
        self.code = code
        self.retry_after_ms = retry_after_ms


class AmbiguousError(SinkError):
    """No answer that says whether the message was created: 5xx, a cut connection, a timeout."""


class ArrivalUnknownError(SinkError):
    """The channel's history cannot be read: nobody can say what arrived."""


class WireState:
    """Whether a request has left. A sink that waits for a rate limit says so with `hold`.

    What has not left yet can be withdrawn when a stop arrives (spec 04 O1).
    """

    def __init__(self, now: float) -> None:
        self.on_wire = True
        self.left_at = now

    def hold(self) -> None:
        self.on_wire = False

    def leave(self, now: float) -> None:
        self.on_wire = True
        self.left_at = now


class Sink(Protocol):
    """One channel. Calls may overlap only for `typing`."""

    @property
    def display_name(self) -> str | None:
        """The bot's own name in this channel."""

    async def send(self, post: Post, wire: WireState) -> Sent:
        """Create the message, through the open webhook if it has a face."""

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        """Give a message of ours new content. Mentions in it never notify."""

    async def delete(self, sent: Sent, wire: WireState) -> None:
        """Take a message of ours away: what it showed was not to be kept (live mode)."""

    async def typing(self, ms: int | None) -> None:
        """Show the indicator: before a message for `ms`, or (None) just keep it alive."""

    async def reply_notice(self, face: WebhookFace, wire: WireState) -> Sent | None:
        """Say through the webhook who and what is answered: webhooks cannot reply.

        None if nobody is answered.
        """

    async def open_webhook(self) -> None:
        """Find or create the channel's webhook. A refusal means: there is none to be had."""

    async def forget_webhook(self) -> None:
        """It is gone: the next `open_webhook` has to look again."""

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        """What may be this message, oldest first, among what came since then (loop time)."""
