"""Which events the bot asks Discord for."""

from __future__ import annotations

import discord


def intents(*, members: bool = False) -> discord.Intents:
    """Return the intents that the bot uses. Message content and members are privileged."""
    return discord.Intents(
        guilds=True,
        guild_messages=True,
        dm_messages=True,
        message_content=True,
        emojis_and_stickers=True,
        guild_typing=True,
        dm_typing=True,
        members=members,
    )
