"""What every command works with, and what its user is allowed to do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.client.discord_values import may_see, path_of, person_of
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.conversation.messages import ChannelPath, Person
from oshaberi.discord_io.requests.parameters import AVATAR_URL_LIMIT
from oshaberi.errors import OshaberiError
from oshaberi.languages import translated

Interaction = discord.Interaction[Any]
Command = app_commands.Command[Any, ..., Any]
ChosenPlace = app_commands.AppCommandChannel | app_commands.AppCommandThread


class AnyPlace(app_commands.Transformer):
    """The type of an option that takes any channel.

    It names no channel types, so all are allowed.
    """

    @property
    def type(self) -> discord.AppCommandOptionType:
        return discord.AppCommandOptionType.channel

    async def transform(self, _interaction: Interaction, value: Any, /) -> Any:
        return value


PlaceOption = app_commands.Transform[ChosenPlace, AnyPlace]
"""A channel, thread or category, as the option `in` of a command."""
CHOICE_LIMIT = 100
"""How many characters a choice may have that Discord offers while the user types."""
Chosen = app_commands.Range[str, 1, CHOICE_LIMIT]
"""What a user chooses or types to name one of several things: a setting, a persona, a key."""
Address = app_commands.Range[str, 1, AVATAR_URL_LIMIT]
SeenChannel = discord.abc.GuildChannel | discord.Thread
Where = ChannelPath | None
"""The channel, thread or category that a command is about; None means the whole server."""
MOST_PLACES = 500
"""How many channels, threads and categories of a server may have settings or models of their
own."""

MANAGER = discord.Permissions(manage_guild=True)
"""The permission of members to whom Discord shows the commands that change something."""


class CommandRefusedError(OshaberiError):
    """The command cannot be carried out. The message says in one sentence what to do instead."""


@dataclass(frozen=True, slots=True)
class CommandUser:
    """The user of a command, and where they used it. `server_id` is 0 in direct messages."""

    person: Person
    path: ChannelPath
    is_owner: bool = False
    can_write: bool = True
    """Whether they may write messages there themselves."""

    @property
    def server_id(self) -> int:
        return self.path.server_id

    @property
    def channel_id(self) -> int:
        return self.path.channel_id

    @property
    def may_manage(self) -> bool:
        """Return whether the user may change settings. In DMs only the bot's owner may."""
        return self.is_owner or (self.server_id != 0 and self.person.can_manage_server)

    def must_manage(self) -> None:
        if self.may_manage:
            return
        if self.server_id == 0:
            raise CommandRefusedError(
                translated("In direct messages only the bot's owner can change this.")
            )
        raise CommandRefusedError(
            translated("Only members with the permission Manage Server can change this.")
        )

    def must_see_settings(self) -> None:
        """In direct messages, refuse all but the bot's owner: settings there apply to all DMs."""
        if self.server_id == 0 and not self.is_owner:
            raise CommandRefusedError(
                translated("In direct messages only the bot's owner can see this.")
            )

    def must_write(self) -> None:
        """Refuse users who may not write in the channel."""
        if not self.can_write:
            raise CommandRefusedError(
                translated("You may not write here, so I do not write for you either.")
            )


def client_of(interaction: Interaction) -> OshaberiClient:
    client: OshaberiClient = interaction.client
    return client


def context_of(interaction: Interaction) -> BotContext:
    return client_of(interaction).context


def asker_of(interaction: Interaction) -> CommandUser:
    """Return the user of an interaction, with the permissions that Discord sent along."""
    allowed = interaction.permissions
    person = replace(
        person_of(interaction.user),
        can_manage_server=allowed.manage_guild or allowed.administrator,
        can_manage_messages=allowed.manage_messages or allowed.administrator,
        can_read_history=_may(interaction, "read_message_history"),
        can_add_reactions=_may(interaction, "add_reactions"),
    )
    in_thread = isinstance(interaction.channel, discord.Thread)
    return CommandUser(
        person,
        _path(interaction),
        is_owner=_owns(interaction.client.application, person.id),
        can_write=_may(interaction, "send_messages_in_threads" if in_thread else "send_messages"),
    )


def _may(interaction: Interaction, permission: str) -> bool:
    """Return whether the user has an ordinary permission. In direct messages every user has it."""
    allowed = interaction.permissions
    if interaction.guild_id is None or allowed.administrator:
        return True
    return bool(getattr(allowed, permission))


def context_in(
    interaction: Interaction, place: PlaceOption | None
) -> tuple[BotContext, CommandUser, Where]:
    """Return the context of a command that has the option `in` (one channel)."""
    return context_of(interaction), asker_of(interaction), _chosen_path(interaction, place)


def check_places(places: Collection[int], where: Where) -> None:
    """Refuse another place if there are too many. `places` already have their own settings."""
    if where is not None and where.channel_id not in places and len(places) >= MOST_PLACES:
        raise CommandRefusedError(
            translated(
                "At most {most} channels can have their own settings or models; reset one first.",
                most=MOST_PLACES,
            )
        )


def typed_place(interaction: Interaction) -> Where:
    """Return the channel of `in` while the user types: Discord sends only its id then."""
    place = getattr(interaction.namespace, "in")
    return None if place is None else ChannelPath(interaction.guild_id or 0, place.id)


def visible_channel(interaction: Interaction, channel_id: int) -> SeenChannel | None:
    """Return a channel of this server; None if there is none or the user cannot see it."""
    guild, member = interaction.guild, interaction.user
    found = None if guild is None else guild.get_channel_or_thread(channel_id)
    if found is None or not isinstance(member, discord.Member) or not may_see(found, member):
        return None
    return found


def _chosen_path(interaction: Interaction, place: PlaceOption | None) -> Where:
    """Return the path of the channel that the user chose as `in`; None without a choice."""
    if place is None:
        return None
    guild, allowed = interaction.guild, place.permissions
    if guild is None:
        raise CommandRefusedError(
            translated("There are no channels in direct messages. Leave out `in`.")
        )
    if not allowed.view_channel and not allowed.administrator:
        raise CommandRefusedError(translated("You cannot see that channel."))
    if isinstance(place, app_commands.AppCommandChannel):
        return ChannelPath(guild.id, place.id, None, place.category_id)
    category_id = getattr(guild.get_channel(place.parent_id), "category_id", None)
    return ChannelPath(guild.id, place.id, place.parent_id, category_id)


def _path(interaction: Interaction) -> ChannelPath:
    channel = interaction.channel
    if channel is not None and not isinstance(channel, discord.GroupChannel):
        return path_of(channel)
    return ChannelPath(interaction.guild_id or 0, interaction.channel_id or 0)


def turn_channel_of(interaction: Interaction) -> DiscordTurnChannel:
    channel = interaction.channel
    if not isinstance(channel, discord.abc.Messageable):
        raise CommandRefusedError(translated("There are no conversations in this kind of channel."))
    return client_of(interaction).turn_channel(channel)


def context_here(
    interaction: Interaction,
) -> tuple[BotContext, CommandUser, DiscordTurnChannel]:
    """Return the context of a command about the conversation in its own channel."""
    return context_of(interaction), asker_of(interaction), turn_channel_of(interaction)


def _owns(application: discord.AppInfo | None, user_id: int) -> bool:
    if application is None:
        return False
    team = application.team
    members = () if team is None else team.members
    return user_id == application.owner.id or any(user_id == one.id for one in members)


def in_place(where: Where) -> str:
    """Return " in #channel" for the end of a sentence; empty for the whole server."""
    return "" if where is None else translated(" in <#{channel_id}>", channel_id=where.channel_id)
