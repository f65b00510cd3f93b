"""Finds the parent and the category of a Discord channel, and whether it was deleted."""

from __future__ import annotations

from typing import TypeAlias

import aiohttp
import discord

from oshaberi.conversation.channel_path import ChannelPath

AnyChannel: TypeAlias = "discord.abc.MessageableChannel | discord.abc.GuildChannel | discord.Thread"
UNKNOWN = (discord.HTTPException, discord.InvalidData, aiohttp.ClientError, OSError, TimeoutError)


def path_of(channel: AnyChannel) -> ChannelPath:
    """Return the channel's ids with those of the places above it."""
    guild = getattr(channel, "guild", None)
    if guild is None:
        return ChannelPath(0, channel.id)
    if isinstance(channel, discord.Thread):
        category_id = None if channel.parent is None else channel.parent.category_id
        return ChannelPath(guild.id, channel.id, channel.parent_id, category_id)
    return ChannelPath(guild.id, channel.id, None, getattr(channel, "category_id", None))


def is_age_restricted(channel: AnyChannel) -> bool:
    """Tell whether a channel, or the channel of a thread, is marked as age-restricted."""
    if getattr(channel, "guild", None) is None:
        return False
    marked = getattr(channel, "is_nsfw", None)
    return marked is not None and bool(marked())


def places_in(channel: discord.abc.GuildChannel) -> tuple[int, ...]:
    """Return the ids of a channel and of its threads, as far as the client knows them."""
    threads = (one.id for one in channel.guild.threads if one.parent_id == channel.id)
    return (channel.id, *threads)


def place_ids(guild: discord.Guild) -> tuple[int, ...]:
    """Return the ids of all channels and threads of a server, as far as the client knows them."""
    return tuple(place.id for place in (*guild.channels, *guild.threads))


async def is_gone(client: discord.Client, server_id: int, channel_id: int) -> bool:
    """Tell whether a channel was deleted. Asks Discord, because old threads are not in memory."""
    guild = client.get_guild(server_id)
    if guild is None or guild.unavailable or guild.get_channel_or_thread(channel_id) is not None:
        return False
    try:
        await guild.fetch_channel(channel_id)
    except discord.NotFound:
        return True
    except UNKNOWN:
        return False
    return False
