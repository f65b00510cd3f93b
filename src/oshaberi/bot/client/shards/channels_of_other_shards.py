"""Fetches channels of guilds that another process serves, with what is needed to write there.

discord.py knows only the guilds of its own shards. When it fetches a channel of another guild, that
guild has no roles and no member for the bot, so the bot's permissions would be unknown.
"""

from __future__ import annotations

import asyncio

import discord

from oshaberi.turns.bounded_cache import BoundedCache, KeyedLocks

MOST_GUILDS = 100
FRESH_SECONDS = 60.0
"""How long a fetched guild is used again: channels of one guild are often fetched together."""

Fetched = discord.abc.GuildChannel | discord.abc.PrivateChannel | discord.Thread


class ChannelsOfOtherShards:
    """Fetches channels whose guild this client does not know."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._guilds: BoundedCache[int, tuple[float, discord.Guild]] = BoundedCache(MOST_GUILDS)
        self._fetching: KeyedLocks[int] = KeyedLocks()

    async def channel(self, channel_id: int) -> Fetched:
        """Fetch a channel by id. Raises what discord.py raises."""
        channel = await self._client.fetch_channel(channel_id)
        if isinstance(channel, discord.abc.PrivateChannel):
            return channel
        if self._client.get_guild(channel.guild.id) is not None:
            return channel
        guild = await self._guild(channel.guild.id)
        channel = await guild.fetch_channel(channel_id)
        if isinstance(channel, discord.Thread) and channel.parent is None:
            # The permissions in a thread are those of its channel.
            parent = await guild.fetch_channel(channel.parent_id)
            if not isinstance(parent, discord.Thread):
                guild._add_channel(parent)  # noqa: SLF001
        return channel

    async def _guild(self, guild_id: int) -> discord.Guild:
        now = asyncio.get_running_loop().time()
        async with self._fetching.through(guild_id):
            known = self._guilds.get(guild_id)
            if known is not None and now - known[0] < FRESH_SECONDS:
                return known[1]
            guild = await self._fetched(guild_id)
            self._guilds.put(guild_id, (now, guild))
            return guild

    async def _fetched(self, guild_id: int) -> discord.Guild:
        guild = await self._client.fetch_guild(guild_id, with_counts=False)
        me = self._client.user
        if me is not None:
            # discord.py has no public way to add the bot's own member.
            guild._add_member(await guild.fetch_member(me.id))  # noqa: SLF001
        return guild
