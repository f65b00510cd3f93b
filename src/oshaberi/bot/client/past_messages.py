"""Reads the past messages of a channel: received ones from memory, others from Discord."""

from __future__ import annotations

import asyncio
import logging
from itertools import islice

import discord

from oshaberi.bot.client.message_reader import NOT_FOUND
from oshaberi.discord_io import ClientState
from oshaberi.discord_io.channel_address import may_read_history

log = logging.getLogger(__name__)

HISTORY_S = 30.0
"""How long a turn waits for the channel's history. After that it uses what the bot has received."""


async def past_messages(
    client: discord.Client,
    client_state: ClientState,
    channel: discord.abc.MessageableChannel,
    before: int | None,
    limit: int,
) -> list[discord.Message]:
    """Return past messages, oldest first; none if the channel cannot be read."""
    if limit <= 0 or not may_read_history(channel):
        return []
    known = client_state.histories.known(channel, before, limit)
    if known is not None:
        client_state.histories.on_read("memory")
        return known[::-1]
    try:
        read = await _read(client_state, channel, before, limit)
        client_state.histories.on_read("discord")
    except NOT_FOUND as error:
        log.warning("channel %s: its history cannot be read: %s", channel.id, error)
        if _is_refused(error):
            return []
        read = _received(client, channel.id, before, limit)
        client_state.histories.on_read("received")
    return read[::-1]


async def _read(
    client_state: ClientState,
    channel: discord.abc.MessageableChannel,
    before: int | None,
    limit: int,
) -> list[discord.Message]:
    edge = None if before is None else discord.Object(before)
    with client_state.histories.reading(channel, before, limit) as keep:
        async with asyncio.timeout(HISTORY_S):
            read = [message async for message in channel.history(limit=limit, before=edge)]
        keep(read)
    return read


def _received(
    client: discord.Client, channel_id: int, before: int | None, limit: int
) -> list[discord.Message]:
    """Return the messages that the bot received since it started, newest first."""
    here = (
        message
        for message in reversed(client.cached_messages)
        if message.channel.id == channel_id and (before is None or message.id < before)
    )
    return list(islice(here, limit))


def _is_refused(error: BaseException) -> bool:
    """Tell whether Discord refused the request. Any other error is an outage."""
    return isinstance(error, discord.HTTPException) and error.status < 500
