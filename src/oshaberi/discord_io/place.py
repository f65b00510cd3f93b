"""A channel in numbers: where messages go, where its webhook lives, what its links look like."""

from __future__ import annotations

from dataclasses import dataclass

import discord


@dataclass(frozen=True, slots=True)
class Place:
    """`webhook_channel_id` is None where there can be no webhook."""

    channel_id: int
    guild_id: int | None
    webhook_channel_id: int | None
    thread_id: int | None

    @classmethod
    def of(cls, channel: discord.abc.MessageableChannel) -> Place:
        guild = getattr(channel, "guild", None)
        if guild is None:
            return cls(channel.id, None, None, None)
        if isinstance(channel, discord.PartialMessageable):
            return cls(channel.id, guild.id, None, None)  # nobody knows what it is
        if isinstance(channel, discord.Thread):
            return cls(channel.id, guild.id, channel.parent_id, channel.id)
        return cls(channel.id, guild.id, channel.id, None)

    def link(self, message_id: int) -> str:
        return (
            f"https://discord.com/channels/{self.guild_id or '@me'}/{self.channel_id}/{message_id}"
        )


def may_read_history(channel: discord.abc.MessageableChannel) -> bool:
    """Without the permission Discord does not refuse: it shows an empty history."""
    guild = getattr(channel, "guild", None)
    if guild is None:
        return True
    if guild.me is None or isinstance(channel, discord.PartialMessageable):
        return False
    try:
        return channel.permissions_for(guild.me).read_message_history
    except discord.ClientException:
        return False  # a thread whose parent we do not see
