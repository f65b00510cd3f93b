"""What was said to the bot while nobody listened (a restart, a lost session): answered if it is
recent. Discord does not tell where direct messages were missed: who has written before is looked
at."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import discord

from oshaberi.bot.client.incoming_messages import NOT_FOUND, MessageReader
from oshaberi.discord_io.channel_address import may_read_history

log = logging.getLogger(__name__)

RECENT = timedelta(minutes=10)
MOST_CHANNELS = 50
MOST_DIRECT = 25
"""Direct messages, each of which costs a request."""
MOST_MESSAGES = 100
"""Looked at in one channel."""
MOST_ANSWERED = 3
"""In one channel: the newest. Nobody wants ten late answers at once."""

LastSeen = Callable[[int], Awaitable[int]]
IsForUs = Callable[[discord.Message], Awaitable[bool]]
Listen = Callable[[discord.Message], Awaitable[None]]
DirectIds = Callable[[], Awaitable[Sequence[int]]]
ServerPlace = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
Place = ServerPlace | discord.DMChannel


class MissedMessages:
    """`last_seen` is the newest message of a channel that was taken care of; 0 if none was.

    `is_for_us`: whether it would be answered. `direct_ids`: the direct messages to look at.
    """

    def __init__(
        self,
        reader: MessageReader,
        last_seen: LastSeen,
        is_for_us: IsForUs,
        listen: Listen,
        direct_ids: DirectIds,
    ) -> None:
        self._reader = reader
        self._last_seen = last_seen
        self._is_for_us = is_for_us
        self._listen = listen
        self._direct_ids = direct_ids

    async def run(self) -> int:
        """How many messages were found and handed on."""
        edge = discord.utils.time_snowflake(discord.utils.utcnow() - RECENT)
        count = 0
        for channel in [*self._active(edge), *await self._direct(edge)]:
            for message in await self._missed(channel, edge):
                await self._listen(message)
                count += 1
        return count

    def _active(self, edge: int) -> list[ServerPlace]:
        """Where something was written since, newest first: no request is made for the others."""
        guilds = self._reader.client.guilds
        places = [place for guild in guilds for place in _places(guild) if _newest(place) > edge]
        readable = [place for place in places if may_read_history(place)]
        return sorted(readable, key=_newest, reverse=True)[:MOST_CHANNELS]

    async def _direct(self, edge: int) -> list[Place]:
        found = [await self._direct_since(number, edge) for number in await self._direct_ids()]
        return [place for place in found if place is not None]

    async def _direct_since(self, channel_id: int, edge: int) -> discord.DMChannel | None:
        """Only if something was written there since."""
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
        seen = await self._last_seen(channel.id)
        if not isinstance(channel, discord.DMChannel) and _newest(channel) <= seen:
            return []
        after = discord.Object(max(seen, edge))
        try:
            pages = channel.history(limit=MOST_MESSAGES, after=after, oldest_first=True)
            messages = [message async for message in pages]
        except NOT_FOUND as error:
            log.warning("channel %s: missed messages cannot be read: %s", channel.id, error)
            return []
        ours = [message for message in messages if self._reader.is_ours(message)]
        answered = {message.reference.message_id for message in ours if message.reference}
        open_ones = [message for message in messages if message.id not in answered]
        return await self._newest_for_us(open_ones)

    async def _newest_for_us(self, messages: Sequence[discord.Message]) -> list[discord.Message]:
        """Oldest first."""
        found: list[discord.Message] = []
        for message in reversed(messages):
            talk = not message.author.bot and self._reader.is_talk(message)
            if talk and await self._is_for_us(message):
                found.append(message)
            if len(found) == MOST_ANSWERED:
                break
        return found[::-1]


def _places(guild: discord.Guild) -> list[ServerPlace]:
    spoken: list[ServerPlace] = [*guild.voice_channels, *guild.stage_channels]
    return [*guild.text_channels, *guild.threads, *spoken]


def _newest(place: ServerPlace) -> int:
    return place.last_message_id or 0
