"""Checks whether a message arrived, by gateway event or channel history.

It matches by nonce if there is one (a history has none), else by sender, text and file names.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import discord

from oshaberi.delivery.sink import Post

KEPT_PER_CHANNEL = 64
KEPT_CHANNELS = 1000
KEPT_CLAIMS = 5000
"""How many nonces are kept: those of more than a minute and a half, at fifty requests a second."""


@dataclass(frozen=True, slots=True)
class SeenArrival:
    """The parts of a received message that identify it."""

    id: int
    author_id: int
    webhook_id: int | None
    content: str
    files: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    nonce: str | None = None

    @classmethod
    def of_event(cls, message: discord.Message) -> SeenArrival:
        return cls(
            id=message.id,
            author_id=message.author.id,
            webhook_id=message.webhook_id,
            content=message.content,
            files=tuple(file.filename for file in message.attachments),
            titles=tuple(embed.title or "" for embed in message.embeds),
            nonce=None if message.nonce is None else str(message.nonce),
        )

    @classmethod
    def of_history(cls, message: dict[str, Any]) -> SeenArrival:
        webhook_id = message.get("webhook_id")
        return cls(
            id=int(message["id"]),
            author_id=int(message["author"]["id"]),
            webhook_id=None if webhook_id is None else int(webhook_id),
            content=message["content"],
            files=tuple(file["filename"] for file in message["attachments"]),
            titles=tuple(embed.get("title", "") for embed in message["embeds"]),
        )

    @property
    def blank(self) -> bool:
        """Return whether nothing identifies it: without the intent Discord hides the content."""
        return not (self.content or self.files or self.titles)


class Author:
    """The sender of a post: the bot, or one of our webhooks in the channel."""

    def __init__(self, bot_id: int, webhook_ids: Container[int]) -> None:
        self._bot_id = bot_id
        self._webhook_ids = webhook_ids

    def wrote(self, seen: SeenArrival, post: Post) -> bool:
        if post.face is None:
            return seen.webhook_id is None and seen.author_id == self._bot_id
        return seen.webhook_id in self._webhook_ids


def looks_like(seen: SeenArrival, post: Post) -> bool:
    """Return whether a received message is this post.

    Discord trims the text and adds embeds for links, so these differences do not count.
    """
    if seen.nonce is not None and post.face is None:
        return seen.nonce == post.nonce
    if seen.content.strip() != post.content.strip():
        return False
    if seen.files != tuple(file.name for file in post.files):
        return False
    return post.embed is None or post.embed.title in seen.titles


class Arrivals:
    """The newest messages that the gateway reported, for the most recently active channels."""

    def __init__(self) -> None:
        self._channels: OrderedDict[int, deque[SeenArrival]] = OrderedDict()

    def note(self, message: discord.Message) -> None:
        place = message.channel.id
        seen = self._channels.setdefault(place, deque(maxlen=KEPT_PER_CHANNEL))
        seen.append(SeenArrival.of_event(message))
        self._channels.move_to_end(place)
        if len(self._channels) > KEPT_CHANNELS:
            self._channels.popitem(last=False)

    def of(self, channel_id: int) -> tuple[SeenArrival, ...]:
        return tuple(self._channels.get(channel_id, ()))


class Claims:
    """Notes which received message belongs to which post, so that equal texts are not confused."""

    def __init__(self) -> None:
        self._nonces: OrderedDict[int, str] = OrderedDict()

    def claim(self, message_id: int, nonce: str) -> None:
        self._nonces[message_id] = nonce
        if len(self._nonces) > KEPT_CLAIMS:
            self._nonces.popitem(last=False)

    def free_for(self, message_id: int, nonce: str) -> bool:
        return self._nonces.get(message_id, nonce) == nonce
