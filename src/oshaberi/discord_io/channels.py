"""A channel: its ids, what the bot may do there, whom an answer may ping, and who is there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import discord

from oshaberi.text.config import Known

_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")


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


class MentionPolicy:
    """Decides whom the messages of one answer may ping (spec 07).

    They may ping people of the conversation, and roles that everybody or the asking member may
    mention; never `@everyone`, `@here` or the author of the message that is replied to.

    `asker` is the member whose permissions count; without one, only what everybody may ping is
    allowed. `people` are user ids; ids that are added to the collection later count too. Without
    `with_roles` no role is pinged.
    """

    def __init__(
        self,
        channel: discord.abc.MessageableChannel,
        asker: discord.Member | None = None,
        people: Collection[int] = (),
        *,
        with_roles: bool = True,
    ) -> None:
        self._channel = channel
        self._asker = asker
        self._people = people
        self._with_roles = with_roles

    @classmethod
    def answering(
        cls, channel: discord.abc.MessageableChannel, message: discord.Message | None
    ) -> MentionPolicy:
        """Create the policy for an answer: it may ping the author and the mentioned users."""
        if message is None:
            return cls(channel)
        asker = message.author if isinstance(message.author, discord.Member) else None
        return cls(channel, asker, people_of(message))

    def allowed(self, content: str) -> discord.AllowedMentions:
        """Return the allowed mentions: only ids in the text, so that there are never too many."""
        users = [number for number in _ids(_USER, content) if number in self._people]
        roles = [number for number in _ids(_ROLE, content) if self._may_ping_role(number)]
        return discord.AllowedMentions(
            everyone=False,
            users=[discord.Object(number) for number in users],
            roles=[discord.Object(number) for number in roles],
            replied_user=False,
        )

    def _may_ping_role(self, role_id: int) -> bool:
        guild = getattr(self._channel, "guild", None)
        role = None if guild is None else guild.get_role(role_id)
        if role is None or role.is_default() or not self._with_roles:
            return False
        return role.mentionable or self._asker_may_mention_all()

    def _asker_may_mention_all(self) -> bool:
        if self._asker is None:
            return False
        try:
            return bool(self._channel.permissions_for(self._asker).mention_everyone)
        except (discord.ClientException, AttributeError):
            return False  # a thread whose parent we do not see


def people_of(message: discord.Message) -> set[int]:
    """Return the ids of the message's author and of the users it mentions."""
    return {message.author.id, *(user.id for user in message.mentions)}


def _ids(pattern: re.Pattern[str], content: str) -> list[int]:
    return list(dict.fromkeys(int(found) for found in pattern.findall(content)))


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
