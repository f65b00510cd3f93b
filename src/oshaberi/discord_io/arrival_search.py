"""Looks for a message whose outcome is unknown: in the gateway's events, then in the history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import discord

from oshaberi.delivery.sink import AmbiguousError, ArrivalUnknownError, DiscordRefusalError, Post
from oshaberi.discord_io.arrival_matching import Author, SeenArrival, looks_like
from oshaberi.discord_io.channel_address import ChannelAddress, may_read_history
from oshaberi.discord_io.requests.success_reading import objects_of
from oshaberi.discord_io.shared_sink_state import SharedSinkState

PAGE = 100
MOST_PAGES = 5
CLOCK_SLACK = timedelta(seconds=60)
ID_SLACK = 5000 << 22
"""Five seconds in ids: two of Discord's machines may disagree about which of two messages is
newer."""


class ArrivalSearch:
    """The search in one channel. It notes the newest message before each first attempt."""

    def __init__(
        self,
        shared: SharedSinkState,
        channel: discord.abc.MessageableChannel,
        address: ChannelAddress,
    ) -> None:
        self._shared = shared
        self._channel = channel
        self._address = address
        self._before: dict[str, int] = {}

    def begin(self, nonce: str, newest_id: int) -> None:
        """Note the newest message before an attempt. Only the first attempt counts."""
        self._before.setdefault(nonce, newest_id)

    def recall(self, nonce: str, newest_id: int) -> None:
        """Note the newest message before an attempt of an earlier process."""
        self._before[nonce] = newest_id

    async def find(self, post: Post, since: float) -> int | None:
        """Return the id of the oldest message that may be this post, or None."""
        candidates = self._candidates(
            self._shared.arrivals.of(self._address.channel_id), post, since
        )
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
        ago = timedelta(seconds=asyncio.get_running_loop().time() - since)
        return discord.utils.time_snowflake(discord.utils.utcnow() - ago - CLOCK_SLACK)

    def _candidates(
        self, seen: Iterable[SeenArrival], post: Post, since: float
    ) -> list[SeenArrival]:
        """Return the bot's messages since the first attempt that belong to no other post."""
        start, author, claims = self._start_of(post, since), self._author(), self._shared.claims
        ours = (one for one in seen if one.id > start and author.wrote(one, post))
        return [one for one in ours if claims.free_for(one.id, post.nonce)]

    def _author(self) -> Author:
        user, place = self._shared.client.user, self._address.webhook_channel_id
        ids = frozenset[int]() if place is None else self._shared.webhooks.ids(place)
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
        request = self._shared.client.http.logs_from(self._address.channel_id, PAGE, after=after)
        try:
            messages = objects_of(await self._shared.line.call(request))
        except DiscordRefusalError as refusal:
            if refusal.retry_after_ms is None:
                raise
            # Too early to look is not the same as never: the sender will look again.
            raise AmbiguousError(str(refusal)) from refusal
        try:
            return [SeenArrival.of_history(message) for message in messages]
        except (KeyError, TypeError, ValueError) as error:
            raise AmbiguousError(f"a history that cannot be read: {error!r}") from error
