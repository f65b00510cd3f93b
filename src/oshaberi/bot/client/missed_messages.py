"""Finds recent messages that the bot missed during a restart or a lost session.

Discord does not say which direct messages were missed. So the search looks at the DM channels of
people who have written to the bot before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import discord

from oshaberi.bot.client.message_reader import NOT_FOUND, MessageReader
from oshaberi.discord_io.channel_address import may_read_history

log = logging.getLogger(__name__)

AT_ONCE = 8
"""How many channels are read at the same time. Every channel with something new is read in the
end."""
MOST_DIRECT = 100
"""How many DM channels are read. Each costs a request."""
MOST_MESSAGES = 500
"""How many of a channel's newest messages are read."""

LastSeen = Callable[[int], Awaitable[int]]
IsForUs = Callable[[discord.Message], Awaitable[bool]]
OpenIds = Callable[[int], Awaitable[frozenset[int]]]
Listen = Callable[[discord.Message], Awaitable[None]]
DirectIds = Callable[[], Awaitable[Sequence[int]]]
ServerPlace = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
Place = ServerPlace | discord.DMChannel


class MissedMessages:
    """Finds missed messages.

    `last_seen` returns the newest handled message of a channel, 0 if there is none. `is_for_us`
    tells whether the bot would answer a message. `direct_ids` returns the DM channels to look at.
    The search ignores messages older than `max_age`. It also ignores the `open_questions` of a
    channel: the process that stored them, or one that takes them over, answers them. `shard_id`
    limits the search to the servers of one shard.
    """

    def __init__(
        self,
        reader: MessageReader,
        last_seen: LastSeen,
        is_for_us: IsForUs,
        listen: Listen,
        direct_ids: DirectIds,
        max_age: timedelta,
        open_questions: OpenIds,
        shard_id: int | None = None,
    ) -> None:
        self._reader = reader
        self._last_seen = last_seen
        self._is_for_us = is_for_us
        self._listen = listen
        self._direct_ids = direct_ids
        self._max_age = max_age
        self._open_questions = open_questions
        self._shard_id = shard_id
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> int:
        """Pass on all missed messages and return their number.

        Channels do not wait for each other.
        """
        edge = discord.utils.time_snowflake(discord.utils.utcnow() - self._max_age)
        # The second may fail, so nothing is begun before it.
        places, direct_ids = self._active(edge), await self._direct_ids()
        served = [self._serve(place, edge) for place in places]
        direct = [self._serve_direct(number, edge) for number in direct_ids]
        return sum(await asyncio.gather(*served, *direct))

    def _active(self, edge: int) -> list[ServerPlace]:
        """Return channels with messages after `edge`, newest first. Others need no request."""
        guilds = [guild for guild in self._reader.client.guilds if self._is_looked_at(guild)]
        places = [place for guild in guilds for place in _places(guild) if _newest(place) > edge]
        readable = [place for place in places if may_read_history(place)]
        return sorted(readable, key=_newest, reverse=True)

    def _is_looked_at(self, guild: discord.Guild) -> bool:
        return self._shard_id is None or guild.shard_id == self._shard_id

    async def _serve_direct(self, channel_id: int, edge: int) -> int:
        async with self._free:
            place = await self._direct_since(channel_id, edge)
        return 0 if place is None else await self._serve(place, edge)

    async def _serve(self, place: Place, edge: int) -> int:
        """Pass on the missed messages of one channel, in the order in which they were written."""
        async with self._free:
            missed = await self._missed(place, edge)
            for message in missed:
                await self._listen(message)
        return len(missed)

    async def _direct_since(self, channel_id: int, edge: int) -> discord.DMChannel | None:
        """Return the DM channel, or None if nothing was written there after `edge`."""
        client = self._reader.client
        pages = client.get_partial_messageable(channel_id).history(limit=1)
        try:
            newest = [message.id async for message in pages]
            if max(newest, default=0) <= edge:
                return None
            channel = client.get_channel(channel_id) or await client.fetch_channel(channel_id)
        except (*NOT_FOUND, discord.InvalidData) as error:
            log.debug("channel %s: missed messages cannot be looked for: %s", channel_id, error)
            return None
        return channel if isinstance(channel, discord.DMChannel) else None

    async def _missed(self, channel: Place, edge: int) -> list[discord.Message]:
        """Return the missed messages of one channel, oldest first."""
        seen = await self._last_seen(channel.id)
        if not isinstance(channel, discord.DMChannel) and _newest(channel) <= seen:
            return []
        try:
            messages = await _written_since(channel, max(seen, edge))
        except NOT_FOUND as error:
            log.warning("channel %s: missed messages cannot be read: %s", channel.id, error)
            return []
        ours = [message for message in messages if self._reader.is_ours(message)]
        settled = {message.reference.message_id for message in ours if message.reference}
        if messages:
            settled |= await self._open_questions(channel.id)
        return [
            message
            for message in messages
            if message.id not in settled and await self._asks_us(message)
        ]

    async def _asks_us(self, message: discord.Message) -> bool:
        return self._reader.is_new_talk(message) and await self._is_for_us(message)


async def _written_since(channel: Place, edge: int) -> list[discord.Message]:
    """Return the messages after `edge`, oldest first. If there are too many, drop the oldest."""
    found: list[discord.Message] = []
    async for message in channel.history(limit=MOST_MESSAGES):
        if message.id <= edge:
            break
        found.append(message)
    return found[::-1]


def _places(guild: discord.Guild) -> list[ServerPlace]:
    spoken: list[ServerPlace] = [*guild.voice_channels, *guild.stage_channels]
    return [*guild.text_channels, *guild.threads, *spoken]


def _newest(place: ServerPlace) -> int:
    return place.last_message_id or 0
