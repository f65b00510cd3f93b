"""A channel's ids, its links, and what the text engine needs to know about its guild."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import discord

from oshaberi.text.config import Known

# The ids of a channel: where messages go, where its webhook is, how links to it are built.


@dataclass(frozen=True, slots=True)
class ChannelAddress:
    """The ids of a channel. `webhook_channel_id` is None if it cannot have webhooks."""

    channel_id: int
    guild_id: int | None
    webhook_channel_id: int | None
    thread_id: int | None

    @classmethod
    def of(cls, channel: discord.abc.MessageableChannel) -> ChannelAddress:
        guild = getattr(channel, "guild", None)
        if guild is None:
            return cls(channel.id, None, None, None)
        if isinstance(channel, discord.PartialMessageable):
            return cls(channel.id, guild.id, None, None)  # its type is unknown
        if isinstance(channel, discord.Thread):
            return cls(channel.id, guild.id, channel.parent_id, channel.id)
        return cls(channel.id, guild.id, channel.id, None)

    def link(self, message_id: int) -> str:
        return (
            f"https://discord.com/channels/{self.guild_id or '@me'}/{self.channel_id}/{message_id}"
        )


def may_read_history(channel: discord.abc.MessageableChannel) -> bool:
    """Return whether the bot may read the history.

    Without the permission Discord sends an empty history instead of an error.
    """
    if getattr(channel, "guild", None) is None:
        return True
    return _permissions(channel).read_message_history


def may_write(channel: discord.abc.MessageableChannel) -> bool:
    """Return whether the bot may write, itself or by webhook. True if permissions are unknown."""
    allowed = _permissions(channel)
    if not allowed.value:
        return True
    thread = isinstance(channel, discord.Thread)
    itself = allowed.send_messages_in_threads if thread else allowed.send_messages
    return itself or allowed.manage_webhooks


def may_react(channel: discord.abc.MessageableChannel) -> bool:
    """Return whether the bot may add reactions. True in a DM or if permissions are unknown."""
    allowed = _permissions(channel)
    return not allowed.value or (allowed.add_reactions and allowed.read_message_history)


def may_manage_messages(channel: discord.abc.MessageableChannel) -> bool:
    """Return whether the bot may delete others' messages. False in a DM."""
    return _permissions(channel).manage_messages


def _permissions(channel: discord.abc.MessageableChannel) -> discord.Permissions:
    """Return the bot's permissions in a guild's channel; none elsewhere or if unknown."""
    guild = getattr(channel, "guild", None)
    if guild is None or guild.me is None or isinstance(channel, discord.PartialMessageable):
        return discord.Permissions.none()
    try:
        return channel.permissions_for(guild.me)
    except discord.ClientException:
        return discord.Permissions.none()  # a thread whose parent we do not see


# Reads from a guild what the text engine needs: emoji, people, the bot's own name.


def emojis_of(guild: discord.Guild | None) -> tuple[str, ...]:
    """Return the guild's emoji that the bot can use, in message syntax. A DM has none."""
    if guild is None:
        return ()
    return tuple(str(emoji) for emoji in guild.emojis if emoji.is_usable())


def known_people(
    people: Iterable[discord.Member | discord.User], me: discord.abc.User | None = None
) -> tuple[Known, ...]:
    """Return the people of a conversation, without duplicates and without the bot."""
    found: dict[int, Known] = {}
    for person in people:
        if me is None or person.id != me.id:
            found.setdefault(person.id, _known(person))
    return tuple(found.values())


def bot_name(channel: discord.abc.MessageableChannel, client: discord.Client) -> str | None:
    """Return the name that the bot's own messages show in this channel."""
    guild = getattr(channel, "guild", None)
    me = client.user if guild is None else guild.me or client.user
    return None if me is None else me.display_name


def _known(person: discord.Member | discord.User) -> Known:
    names = (person.display_name, getattr(person, "nick", None), person.global_name, person.name)
    unique = list(dict.fromkeys(name for name in names if name))
    return Known(
        name=unique[0],
        kind="user",
        id=str(person.id),
        aliases=tuple(unique[1:]),
        avatar_url=person.display_avatar.url,
    )
