"""Discord's people, places, texts and files as the plain values of a turn.

Everything here only reads what discord.py already has in memory, except `is_gone` and `read_text`,
which ask Discord.
"""

from __future__ import annotations

import mimetypes
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

import aiohttp
import discord

from oshaberi.bot.client.message_parts import (
    embed_text,
    has_parts,
    part_lines,
    sticker_pictures,
)
from oshaberi.bot.conversation.messages import (
    AttachedFile,
    ChannelMessage,
    ChannelPath,
    Person,
    TalkPlace,
)
from oshaberi.bot.conversation.transcript import plain_words
from oshaberi.bot.turns.thoughts import is_logged_thought
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body

KEPT_MEMBERS = 5000
LARGEST_BYTES = 256 * 1024
READ_SECONDS = 10
NO_MIME = "application/octet-stream"
HIDDEN_CHANNEL = "#unknown"
"""Shown for a channel that does not exist, and for one that the reader may not see, so that nobody
learns which it is."""
UNKNOWN = (discord.HTTPException, discord.InvalidData, aiohttp.ClientError, OSError, TimeoutError)

AnyUser = discord.User | discord.Member
AnyChannel: TypeAlias = "discord.abc.MessageableChannel | discord.abc.GuildChannel | discord.Thread"

_TOKENS = re.compile(
    # Ids have at most 20 digits, commands three words of 32 letters, so no pattern looks far ahead.
    r"<(?:a?:(?P<emoji>\w{1,64}):\d{1,20}|@!?(?P<user>\d{1,20})|@&(?P<role>\d{1,20})"
    r"|#(?P<channel>\d{1,20})|/(?P<command>[^:<>]{1,100}):\d{1,20})>"
)


# Places


def path_of(channel: AnyChannel) -> ChannelPath:
    """Return the channel's ids with those of the places above it."""
    guild = getattr(channel, "guild", None)
    if guild is None:
        return ChannelPath(0, channel.id)
    if isinstance(channel, discord.Thread):
        category_id = None if channel.parent is None else channel.parent.category_id
        return ChannelPath(guild.id, channel.id, channel.parent_id, category_id)
    return ChannelPath(guild.id, channel.id, None, getattr(channel, "category_id", None))


def talk_place(channel: AnyChannel, our_id: int | None) -> TalkPlace:
    """Return whether a place is for one conversation."""
    if not isinstance(channel, discord.Thread):
        return ""
    if channel.owner_id == our_id:
        return "own_thread"
    return "forum_post" if isinstance(channel.parent, discord.ForumChannel) else ""


def is_age_restricted(channel: AnyChannel) -> bool:
    """Return whether a channel, or the channel of a thread, is marked as age-restricted."""
    if getattr(channel, "guild", None) is None:
        return False
    is_nsfw = getattr(channel, "is_nsfw", None)
    return is_nsfw is not None and bool(is_nsfw())


def may_see(place: discord.abc.GuildChannel | discord.Thread, viewer: AnyUser | None) -> bool:
    """Return whether the viewer can see the channel. A non-member sees what @everyone sees."""
    whose = viewer if isinstance(viewer, discord.Member) else place.guild.default_role
    try:
        allowed = place.permissions_for(whose)
    except discord.ClientException:
        return False  # a thread whose parent we cannot see
    is_private = isinstance(place, discord.Thread) and place.is_private()
    return allowed.view_channel and (allowed.manage_threads or not is_private)


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


# People


class RecentMembers:
    """The members that the client saw recently.

    Without the members intent discord.py keeps no members, and the messages of a history carry no
    nicknames: the same person would have two names in one conversation.
    """

    def __init__(self) -> None:
        self._members: OrderedDict[tuple[int, int], discord.Member] = OrderedDict()

    def meet(self, message: discord.Message) -> None:
        """Remember the author and the mentioned users of a message."""
        for user in (message.author, *message.mentions):
            if isinstance(user, discord.Member):
                self.add(user)

    def add(self, member: discord.Member) -> None:
        self._members[member.guild.id, member.id] = member
        self._members.move_to_end((member.guild.id, member.id))
        if len(self._members) > KEPT_MEMBERS:
            self._members.popitem(last=False)

    def latest(self, user: AnyUser, guild: discord.Guild | None) -> AnyUser:
        """Return the user as the member that was last seen, if there is one.

        A received message keeps its author as they were when it was sent.
        """
        if guild is None:
            return user
        return self._members.get((guild.id, user.id), user)


def distinct_people(
    users: Iterable[AnyUser],
    members: RecentMembers,
    channel: discord.abc.MessageableChannel,
    our_id: int | None,
) -> tuple[Person, ...]:
    """Return each user once, in order of first appearance, without the bot."""
    guild = getattr(channel, "guild", None)
    people: dict[int, Person] = {}
    for user in users:
        if user.id not in people and user.id != our_id:
            people[user.id] = person_of(members.latest(user, guild), channel)
    return tuple(people.values())


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
        return user.guild_permissions  # a thread whose parent we cannot see


# Messages


def message_value(
    message: discord.Message,
    members: RecentMembers,
    viewer: AnyUser | None,
    our_id: int | None,
    *,
    is_ours: bool,
) -> ChannelMessage:
    """Return a message as `viewer` may read it; with None, as everybody may read it."""
    mentions = (user for user in message.mentions if user.id != our_id)
    return ChannelMessage(
        id=message.id,
        author=author_of(message, members),
        text=readable_text(message, members, viewer, is_ours=is_ours),
        at=message.created_at,
        by_us=is_ours,
        shown_as=message.author.display_name if is_ours else None,
        files=(*map(file_value, _files_of(message)), *sticker_pictures(message)),
        reply_to=replied_id(message),
        embeds=embed_texts(message, is_ours=is_ours),
        mentions=tuple(person_of(members.latest(user, message.guild)) for user in mentions),
        typed=typed_text(message),
    )


def author_of(message: discord.Message, members: RecentMembers) -> Person:
    """Return the author. A webhook counts as a bot, and has the id of its application."""
    author = members.latest(message.author, message.guild)
    if message.webhook_id is None:
        return person_of(author, message.channel)
    speaker = person_of(author, message.channel, is_account=False)
    application_id = message.application_id or message.webhook_id
    return replace(speaker, is_bot=True, application_id=application_id)


def replied_id(message: discord.Message) -> int | None:
    """Return the id of the message that this one replies to."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    return message.reference.message_id


def readable_text(
    message: discord.Message,
    members: RecentMembers,
    viewer: AnyUser | None = None,
    *,
    is_ours: bool = False,
) -> str:
    """Return the text as the viewer sees it: mentions by name, custom emoji as `:name:`."""
    if "<" not in message.content and not has_parts(message):
        return message.content
    if viewer is not None:
        viewer = members.latest(viewer, message.guild)

    def with_names(text: str) -> str:
        if "<" not in text:
            return text
        return _TOKENS.sub(
            lambda token: _token_text(message, token, members, viewer) or token[0], text
        )

    lines = [with_names(message.content), *part_lines(message, with_names, is_ours=is_ours)]
    return "\n".join(line for line in lines if line)


def typed_text(message: discord.Message) -> str | None:
    """Return what the author typed; None if that is the whole readable text.

    Names of users, channels, commands, emoji and stickers do not count as typed, nor does a
    forwarded text, a poll or a component. A role's name does: a role may exist just to call a
    persona.
    """
    if "<" not in message.content and not has_parts(message):
        return None

    def role_name(token: re.Match[str]) -> str:
        number = int(token["role"] or 0)
        role = None if message.guild is None else message.guild.get_role(number)
        return " " if role is None else f"@{role.name}"

    return _TOKENS.sub(role_name, message.content)


def _token_text(
    message: discord.Message, token: re.Match[str], members: RecentMembers, viewer: AnyUser | None
) -> str | None:
    """Return what Discord shows for a token such as `<@123>`; None if that is unknown."""
    kind, value = token.lastgroup, token[token.lastgroup or 0]
    if kind == "emoji":
        return f":{value}:"
    if kind == "command":
        return f"/{value}"
    if kind == "user":
        users = (user for user in message.mentions if user.id == int(value))
        return next((f"@{members.latest(u, message.guild).display_name}" for u in users), None)
    if message.guild is None:
        return None
    if kind == "role":
        role = message.guild.get_role(int(value))
        return None if role is None else f"@{plain_words(role.name)}"
    place = message.guild.get_channel_or_thread(int(value))
    if place is not None and (place == message.channel or may_see(place, viewer)):
        return f"#{plain_words(place.name)}"
    return HIDDEN_CHANNEL


def embed_texts(message: discord.Message, *, is_ours: bool) -> tuple[str, ...]:
    """Return the text of each embed. The bot's thoughts are not part of a conversation."""
    embeds = [one for one in message.embeds if not (is_ours and is_logged_thought(one.title or ""))]
    return tuple(filter(None, map(embed_text, embeds)))


# Files


def file_value(file: discord.Attachment) -> AttachedFile:
    mime = file.content_type or mimetypes.guess_type(file.filename)[0] or NO_MIME
    return AttachedFile(
        name=plain_words(file.filename),
        url=file.url,
        mime=mime.partition(";")[0].strip(),
        size=file.size,
        alt=file.description or "",
    )


def _files_of(message: discord.Message) -> Iterator[discord.Attachment]:
    yield from message.attachments
    for snapshot in message.message_snapshots:
        yield from snapshot.attachments


async def read_text(file: AttachedFile) -> str | None:
    """Return the file's text, or None if it is too large, not text or not available."""
    if file.size > LARGEST_BYTES:
        return None
    limit = aiohttp.ClientTimeout(total=READ_SECONDS)
    try:
        session = aiohttp.ClientSession(timeout=limit, headers=PLAIN, auto_decompress=False)
        async with session, session.get(file.url) as answer:
            content = await answer_body(answer, LARGEST_BYTES) if answer.status == 200 else None
    except (aiohttp.ClientError, OSError, TimeoutError, BodyTooLargeError, PackedBodyError):
        return None
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
