"""Checks whether a message arrived: in the gateway's events, then in the channel's history.

It matches by nonce if there is one (a history has none), else by sender, text and file names.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import discord

from oshaberi.clocks import loop_time_s, utc_now
from oshaberi.delivery.sink import AmbiguousError, ArrivalUnknownError, DiscordRefusalError, Post
from oshaberi.discord_io.channels import ChannelAddress, may_read_history
from oshaberi.discord_io.requests.answers import objects_of
from oshaberi.discord_io.requests.watch import RequestSender
from oshaberi.discord_io.webhooks import ManagedWebhooks

KEPT_PER_CHANNEL = 64
KEPT_CHANNELS = 1000
KEPT_CLAIMS = 5000
"""How many nonces are kept: those of more than a minute and a half, at fifty requests a second."""
PAGE = 100
MOST_PAGES = 5
CLOCK_SLACK = timedelta(seconds=60)
ID_SLACK = 5000 << 22
"""Five seconds in ids: two of Discord's machines may disagree about which of two messages is
newer."""


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
        """Whether nothing identifies it: without the intent Discord hides the content."""
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
    """Records which received message belongs to which post, to keep equal texts apart."""

    def __init__(self) -> None:
        self._nonces: OrderedDict[int, str] = OrderedDict()

    def claim(self, message_id: int, nonce: str) -> None:
        self._nonces[message_id] = nonce
        if len(self._nonces) > KEPT_CLAIMS:
            self._nonces.popitem(last=False)

    def free_for(self, message_id: int, nonce: str) -> bool:
        return self._nonces.get(message_id, nonce) == nonce


class ArrivalSearch:
    """The search in one channel. It notes the newest message before each first attempt."""

    def __init__(
        self,
        channel: discord.abc.MessageableChannel,
        client: discord.Client,
        line: RequestSender,
        webhooks: ManagedWebhooks,
        arrivals: Arrivals,
        claims: Claims,
    ) -> None:
        self._channel = channel
        self._client = client
        self._line = line
        self._webhooks = webhooks
        self._arrivals = arrivals
        self._claims = claims
        self._before: dict[str, int] = {}

    def begin(self, nonce: str, newest_id: int) -> None:
        """Note the newest message before an attempt. Only the first attempt counts."""
        self._before.setdefault(nonce, newest_id)

    def recall(self, nonce: str, newest_id: int) -> None:
        """Note the newest message before an attempt of an earlier process."""
        self._before[nonce] = newest_id

    async def find(self, post: Post, since: float) -> int | None:
        """Return the id of the oldest message that may be this post, or None."""
        candidates = self._candidates(self._arrivals.of(self._channel.id), post, since)
        if not any(looks_like(one, post) for one in candidates):
            candidates = self._candidates(await self._history(post, since), post, since)
            if any(one.blank for one in candidates):
                raise ArrivalUnknownError(
                    "what others wrote is hidden: message content intent is off"
                )
        found = [one.id for one in candidates if looks_like(one, post)]
        return min(found, default=None)

    def _start_of(self, post: Post, since: float) -> int:
        """Return the id to search from: noted before the first attempt, else by our clock."""
        known = self._before.get(post.nonce)
        if known:
            return known - ID_SLACK
        ago = timedelta(seconds=loop_time_s() - since)
        return discord.utils.time_snowflake(utc_now() - ago - CLOCK_SLACK)

    def _candidates(
        self, seen: Iterable[SeenArrival], post: Post, since: float
    ) -> list[SeenArrival]:
        """Return the bot's messages since the first attempt that belong to no other post."""
        start, author, claims = self._start_of(post, since), self._author(), self._claims
        ours = (one for one in seen if one.id > start and author.wrote(one, post))
        return [one for one in ours if claims.free_for(one.id, post.nonce)]

    def _author(self) -> Author:
        user, place = self._client.user, ChannelAddress.of(self._channel).webhook_channel_id
        ids = frozenset[int]() if place is None else self._webhooks.ids(place)
        return Author(0 if user is None else user.id, ids)

    async def _history(self, post: Post, since: float) -> list[SeenArrival]:
        if not may_read_history(self._channel):
            raise ArrivalUnknownError("the history of this channel cannot be read")
        found: list[SeenArrival] = []
        after = self._start_of(post, since)
        for _ in range(MOST_PAGES):
            page = await self._page(after)
            found += page
            if len(page) < PAGE:
                return found
            after = max(one.id for one in page)
        raise ArrivalUnknownError("too much was written since to find one message in it")

    async def _page(self, after: int) -> list[SeenArrival]:
        request = self._client.http.logs_from(self._channel.id, PAGE, after=after)
        try:
            messages = objects_of(await self._line.call(request))
        except DiscordRefusalError as refusal:
            if refusal.retry_after_ms is None:
                raise
            # Too early to look is not the same as never: the sender will look again.
            raise AmbiguousError(str(refusal)) from refusal
        try:
            return [SeenArrival.of_history(message) for message in messages]
        except (KeyError, TypeError, ValueError) as error:
            raise AmbiguousError(f"a history that cannot be read: {error!r}") from error
