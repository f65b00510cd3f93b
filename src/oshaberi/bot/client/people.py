"""Discord's users and members as people of a turn, and where a channel is."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

import aiohttp
import discord

from oshaberi.bot.conversation.messages import ChannelPath, Person

# Finds the parent and the category of a Discord channel, and whether it was deleted.


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
    """Return whether a channel, or the channel of a thread, is marked as age-restricted."""
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
    """Return whether a channel was deleted. Asks Discord, because old threads are not in memory."""
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


# Discord's users and members as people of a turn, with what they may do in a channel.


KEPT_MEMBERS = 5000
AnyUser = discord.User | discord.Member


class RecentMembers:
    """The members that the client saw recently.

    Without the members intent discord.py keeps no members, and the messages of a history carry no
    nicknames: the same person would have two names in one conversation.
    """

    def __init__(self) -> None:
        self._met: OrderedDict[tuple[int, int], discord.Member] = OrderedDict()

    def meet(self, message: discord.Message) -> None:
        for user in (message.author, *message.mentions):
            if isinstance(user, discord.Member):
                self.add(user)

    def add(self, member: discord.Member) -> None:
        self._met[member.guild.id, member.id] = member
        self._met.move_to_end((member.guild.id, member.id))
        if len(self._met) > KEPT_MEMBERS:
            self._met.popitem(last=False)

    def known(self, user: AnyUser, guild: discord.Guild | None) -> AnyUser:
        """Return the user as the member that was last seen, if there is one.

        A received message keeps its author as they were when it was sent.
        """
        if guild is None:
            return user
        return self._met.get((guild.id, user.id), user)


def person_of(
    user: AnyUser,
    channel: discord.abc.MessageableChannel | None = None,
    *,
    is_account: bool = True,
) -> Person:
    """Return a person, with the permissions in `channel` if there is one.

    A webhook is not an account: it has no username.
    """
    names = (user.display_name, getattr(user, "nick", None), user.global_name, user.name)
    unique = list(dict.fromkeys(name for name in names if name))
    allowed, ordinary = permissions_of(user, channel), ordinary_permissions_of(user, channel)
    return Person(
        id=user.id,
        name=unique[0],
        handles=tuple(unique[1:]),
        avatar_url=user.display_avatar.url,
        is_bot=user.bot,
        can_manage_server=allowed.manage_guild,
        can_manage_messages=allowed.manage_messages,
        username=str(user) if is_account else "",
        can_read_history=ordinary.read_message_history,
        can_add_reactions=ordinary.add_reactions,
        role_ids=roles_of(user),
    )


def roles_of(user: AnyUser) -> frozenset[int]:
    if not isinstance(user, discord.Member):
        return frozenset()
    return frozenset(role.id for role in user.roles)


def ordinary_permissions_of(
    user: AnyUser, channel: discord.abc.MessageableChannel | None
) -> discord.Permissions:
    """Return the user's ordinary permissions; for non-members those of @everyone."""
    guild = getattr(channel, "guild", None)
    if channel is None or guild is None:
        return discord.Permissions.all()
    if isinstance(user, discord.Member):
        return permissions_of(user, channel)
    try:
        return channel.permissions_for(guild.default_role)
    except (discord.ClientException, AttributeError):
        return discord.Permissions.none()


def permissions_of(
    user: AnyUser, channel: discord.abc.MessageableChannel | None
) -> discord.Permissions:
    if not isinstance(user, discord.Member) or channel is None:
        return discord.Permissions.none()
    try:
        return channel.permissions_for(user)
    except (discord.ClientException, AttributeError):
        return user.guild_permissions  # a thread whose parent we do not see
