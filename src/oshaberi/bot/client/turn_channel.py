"""A Discord channel that a turn can read and answer in."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import discord

from oshaberi.bot.client.discord_values import (
    AnyUser,
    is_age_restricted,
    ordinary_permissions_of,
    path_of,
    person_of,
)
from oshaberi.bot.client.message_reader import NOT_FOUND, MessageReader
from oshaberi.bot.client.posted_answers import PostedAnswers
from oshaberi.bot.client.reading_rights import Audience
from oshaberi.bot.client.server_view import DiscordServerView
from oshaberi.bot.conversation.answer_buttons import ButtonRows
from oshaberi.bot.conversation.messages import (
    ChannelInfo,
    ChannelMessage,
    ChannelPath,
    IncomingMessage,
    Person,
    PostedAnswer,
    PostedMessage,
    moved_to,
)
from oshaberi.bot.conversation.transcript import plain_words
from oshaberi.bot.storage.records import TalkStart
from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import (
    DiscordRefusalError,
    Embed,
    Post,
    SinkError,
    WebhookFace,
    WireState,
)
from oshaberi.discord_io import ClientState, DiscordSink, MentionPolicy, bot_name, emojis_of
from oshaberi.discord_io.channels import may_react, may_read_history, may_write, people_of

log = logging.getLogger(__name__)

MOST_LOOKED_BACK = 50
"""How many messages are searched for the last one by a person."""
MOST_SOURCES = 5
"""How many places a branch of a branch of … can take its messages from."""
HAS_THREAD = 160004
"""Discord's error code if the message already has a thread."""
RENAMING_S = 60.0
"""How long renaming may take. After two renames of a thread, Discord makes the next one wait."""
HISTORY_S = 30.0
"""How long a turn waits for the channel's history. After that it uses what the bot has received."""


@dataclass(frozen=True, slots=True)
class Participant:
    """Somebody in a channel; None if they are not in its server."""

    person: Person | None
    may_see: bool = False
    may_write: bool = False


class DiscordTurnChannel:
    """One channel, thread or DM. `message` is the message that started the turn, if any."""

    def __init__(
        self,
        reader: MessageReader,
        client_state: ClientState,
        channel: discord.abc.MessageableChannel,
        message: discord.Message | None = None,
    ) -> None:
        self._reader = reader
        self._client = reader.client
        self._client_state = client_state
        self._channel = channel
        self._guild: discord.Guild | None = getattr(channel, "guild", None)
        self._message = message
        self.channel_id = channel.id
        self.server_id = 0 if self._guild is None else self._guild.id
        self._fetched: dict[int, discord.Message] = {}
        self.path: ChannelPath = path_of(channel)
        self._notified: frozenset[int] | None = None
        """The only users whom messages may notify; None: as for an answer."""
        self._people_ids: set[int] = set()
        """Ids of the people known so far in the conversation."""

    @property
    def is_age_restricted(self) -> bool:
        return is_age_restricted(self._channel)

    @cached_property
    def _posted(self) -> PostedAnswers:
        return PostedAnswers(self._reader, self._client_state, self._channel)

    def audience_sees(self, channel_id: int | None) -> bool:
        """Return whether everybody who sees this channel sees that one, too. None is no channel."""
        if channel_id is None:
            return True
        here, there = self._channel, self._client.get_channel(channel_id)
        if there is None or isinstance(there, discord.abc.PrivateChannel):
            return False
        if not isinstance(here, discord.abc.GuildChannel | discord.Thread):
            return False
        return Audience(here).reads(there, with_history=False)

    @property
    def may_write(self) -> bool:
        """Return whether the bot may write there, itself or by webhook."""
        return may_write(self._channel)

    async def person(self, user_id: int) -> Person | None:
        """Return somebody who is in the channel's server; None if they are not.

        Raises if Discord does not answer.
        """
        user = await self._reader.find_user(user_id, self._channel)
        return None if user is None else person_of(user, self._channel)

    async def participant(self, user_id: int) -> Participant:
        """Return somebody, and whether they may read and write here now.

        Raises if Discord does not answer.
        """
        user = await self._reader.find_user(user_id, self._channel)
        if user is None:
            return Participant(None)
        person = person_of(user, self._channel)
        if self._guild is None:
            return Participant(person, may_see=True, may_write=True)
        allowed = ordinary_permissions_of(user, self._channel)
        is_private = isinstance(self._channel, discord.Thread) and self._channel.is_private()
        sees = allowed.view_channel and (
            not is_private or allowed.manage_threads or await self._has_joined(user_id)
        )
        in_thread = isinstance(self._channel, discord.Thread)
        writes = allowed.send_messages_in_threads if in_thread else allowed.send_messages
        return Participant(person, may_see=sees, may_write=sees and writes)

    async def _has_joined(self, user_id: int) -> bool:
        """Return whether somebody is a member of this thread."""
        assert isinstance(self._channel, discord.Thread)
        try:
            await self._channel.fetch_member(user_id)
        except discord.NotFound:
            return False
        return True

    async def last_of_a_person(self) -> ChannelMessage | None:
        """Return the newest message of a person, if it is not too far back."""
        info = await self.channel_info(None, MOST_LOOKED_BACK)
        people = (one for one in reversed(info.history) if not (one.by_us or one.author.is_bot))
        return next(people, None)

    @property
    def newest_message_id(self) -> int | None:
        return getattr(self._channel, "last_message_id", None)

    @property
    def locale(self) -> str:
        if self._guild is not None:
            return self._guild.preferred_locale.value
        return self._reader.locale_of_direct(self._channel, self._message) or ""

    def sink(self, answering: IncomingMessage | None) -> DiscordSink:
        if self._notified is not None:
            only = MentionPolicy(self._channel, None, self._notified, with_roles=False)
            return self._client_state.sink(self._channel, None, only)
        message = None if answering is None else self._cached_message(answering.said.id)
        if message is not None and message.channel.id != self.channel_id:
            message = None  # a thread was started from it: nothing in the thread can reply to it
        for one in (self._message, message):
            self._people_ids.update(() if one is None else people_of(one))
        # With the permissions of the asker: the reply may go to another user.
        asker = self._asker
        mentions = MentionPolicy(
            self._channel, asker if isinstance(asker, discord.Member) else None, self._people_ids
        )
        return self._client_state.sink(self._channel, message, mentions)

    @property
    def _asker(self) -> AnyUser | None:
        """Return the author of the message that started the turn, unless it is the bot."""
        return None if self._message is None else self._reader.asker(self._message)

    async def channel_info(self, before: int | None, limit: int) -> ChannelInfo:
        past, after_id = await self._past(before, limit)
        messages = self._reader.talk_in(past)
        guild = self._guild
        asked = [] if self._message is None else [self._message]
        people = self._reader.people(self._channel, [*asked, *reversed(messages)])
        self._people_ids.update(one.id for one in people)
        return ChannelInfo(
            server_name="" if guild is None else plain_words(guild.name),
            channel_name=plain_words(getattr(self._channel, "name", None) or ""),
            channel_topic=plain_words(_topic(self._channel)),
            **_thread_of(self._channel),
            bot_name=bot_name(self._channel, self._client) or "",
            people=people,
            emojis=emojis_of(guild),
            history=self._reader.channel_messages(messages, self._asker),
            after_id=after_id,
        )

    async def _past(self, before: int | None, limit: int) -> tuple[list[discord.Message], int]:
        """Return the conversation, oldest first, and the id before this channel's own part."""
        if limit <= 0:
            return [], 0
        past, start = await asyncio.gather(
            past_messages(self._client, self._client_state, self._channel, before, limit),
            self._reader.start_of(self.channel_id),
        )
        messages = [one for one in past if one.id > start.after_id]
        return await self._with_sources(messages, start, limit), start.after_id

    async def _with_sources(
        self, messages: list[discord.Message], start: TalkStart, limit: int
    ) -> list[discord.Message]:
        """Prepend the messages with which a thread's conversation begins."""
        for _ in range(MOST_SOURCES):
            room = limit - len(messages)
            source = await self._source(start.source_id) if start.source_id and room > 0 else None
            if source is None or start.after_id:
                break
            until = start.source_last_id + 1
            earlier = await past_messages(self._client, self._client_state, source, until, room)
            after_id = start.source_after_id
            messages = [one for one in earlier if one.id > after_id] + messages
            if after_id:
                break
            start = replace(await self._reader.start_of(start.source_id), after_id=0)
        return messages

    async def _source(self, channel_id: int) -> discord.abc.MessageableChannel | None:
        """Return the channel in which this thread's conversation begins.

        It has the same parent, so whoever may read the thread may read the channel, too.
        """
        place, guild = self._elsewhere(channel_id), self._guild
        if place is None and guild is not None:
            try:
                found = await guild.fetch_channel(channel_id)
            except (*NOT_FOUND, discord.InvalidData):
                return None
            place = found if isinstance(found, discord.Thread) else None
        return place if place is not None and is_beside(place, self._channel) else None

    async def open_thread(
        self, name: str, user_id: int, message_id: int | None = None
    ) -> DiscordTurnChannel | None:
        channel = self._channel
        if not isinstance(channel, discord.TextChannel) or not may_open_threads(channel):
            return None
        try:
            thread = await _opened(channel, name, message_id)
            await thread.add_user(discord.Object(user_id))
        except NOT_FOUND as error:
            log.info("channel %s: no thread is opened: %s", self.channel_id, error)
            return None
        return DiscordTurnChannel(self._reader, self._client_state, thread, self._message)

    async def rename(self, name: str, known_as: str) -> bool:
        guild = self._guild
        thread = None if guild is None else guild.get_thread(self.channel_id)
        if thread is None or thread.name != known_as:
            return False
        try:
            async with asyncio.timeout(RENAMING_S):
                await thread.edit(name=name)
        except NOT_FOUND as error:
            log.info("thread %s keeps its name: %s", self.channel_id, error)
            return False
        return True

    async def said(self, message_id: int) -> ChannelMessage | None:
        message = await self.message(message_id)
        if message is None:
            return None
        await self._reader.meet_author(message)
        return self._reader.channel_message(message, self._asker)

    async def server_view(self, user_id: int) -> DiscordServerView | None:
        here = self._channel
        if not isinstance(here, discord.Thread | discord.abc.GuildChannel):
            return None
        try:
            viewer = await self._reader.find_user(user_id, here)
        except NOT_FOUND:
            viewer = None  # whoever is unknown at the moment may read what everybody may
        return DiscordServerView(self._reader, here, viewer)

    async def incoming(self, message_id: int) -> IncomingMessage | None:
        """Return a message of this channel as if it had just been received."""
        message = await self.message(message_id)
        if message is None:
            return None
        self._message = message
        return self._here(await self._reader.incoming(message))

    def another(self) -> DiscordTurnChannel:
        """Return the same channel for another turn."""
        return DiscordTurnChannel(self._reader, self._client_state, self._channel)

    def notifying(self, user_ids: frozenset[int], /) -> DiscordTurnChannel:
        """Return the same channel for messages that may notify these users, and nobody else."""
        other = self.another()
        other._notified = user_ids  # noqa: SLF001
        return other

    async def question(self, message_id: int) -> IncomingMessage | None:
        """Return a message like `incoming`, but raise if Discord does not answer."""
        message = self._cached_message(message_id)
        if message is None:
            try:
                message = await self._fetch(message_id)
            except (discord.NotFound, discord.Forbidden):
                return None
        if self._reader.is_by_opted_out(message):
            return None
        self._message = message
        return self._here(await self._reader.incoming(message))

    def _here(self, incoming: IncomingMessage) -> IncomingMessage:
        """Return a message as if from this channel: the thread may have been started from it."""
        return moved_to(incoming, self.path)

    async def _fetch(self, message_id: int) -> discord.Message:
        """Return a message of this channel, or the one from which this thread was started."""
        try:
            return await self._channel.fetch_message(message_id)
        except discord.NotFound:
            parent = self._begun_in(message_id)
            if parent is None:
                raise
            return await parent.fetch_message(message_id)

    def _begun_in(self, message_id: int) -> discord.TextChannel | None:
        """Return the parent of this thread if the thread was started there from this message."""
        if not isinstance(self._channel, discord.Thread) or message_id != self.channel_id:
            return None
        parent = self._channel.parent
        return parent if isinstance(parent, discord.TextChannel) else None

    async def message(self, message_id: int) -> discord.Message | None:
        found = self._cached_message(message_id)
        if found is None:
            is_starter = message_id == self.channel_id
            if is_starter and message_id in self._reader.begun_with_none:
                return None
            try:
                found = await self._fetch(message_id)
            except NOT_FOUND as error:
                if is_starter and isinstance(error, discord.NotFound):
                    self._reader.begun_with_none.put(message_id, True)
                return None
            self._fetched[message_id] = found
        return None if self._reader.is_by_opted_out(found) else found

    async def react(self, message_id: int, emoji: str) -> bool:
        """Add a reaction. An emoji of the server may be given by its name."""
        if not may_react(self._channel) or not await self._client_state.may_react():
            return False
        try:
            await self._partial(message_id).add_reaction(self._emoji(emoji))
        except NOT_FOUND as error:
            log.debug("no reaction in channel %s: %s", self.channel_id, error)
            return False
        return True

    async def unreact(self, message_id: int, emoji: str) -> None:
        me = self._client.user
        try:
            if me is not None and self._client_state.allows_reactions:
                await self._partial(message_id).remove_reaction(self._emoji(emoji), me)
        except NOT_FOUND as error:
            log.debug("reaction stays in channel %s: %s", self.channel_id, error)

    async def delete(self, message_ids: Sequence[int]) -> None:
        await self._client_state.remove(self._channel, message_ids)

    async def posted(self, message_ids: Sequence[int]) -> PostedAnswer:
        return await self._posted.read(message_ids)

    async def rewrite(self, message: PostedMessage, text: str) -> None:
        await self._posted.rewrite(message, text)

    async def set_buttons(self, message_id: int, rows: ButtonRows) -> None:
        await self._posted.set_buttons(await self.message(message_id), rows)

    async def log_thoughts(
        self, channel_id: int, embeds: Sequence[Embed], face: WebhookFace | None
    ) -> None:
        channel = self._elsewhere(channel_id)
        if channel is None:
            log.warning("thought_log_channel_id: %s is not a channel of this server", channel_id)
            return
        sink = self._client_state.sink(channel)
        try:
            shown = await _face_there(sink, face)
            for embed in embeds:
                post = Post(secrets.token_hex(8), embed=embed, face=shown, silent=True)
                await sink.send(post, WireState(loop_time_s()))
        except SinkError as error:
            log.warning("thought log in channel %s: %s", channel_id, error)

    def _elsewhere(self, channel_id: int) -> discord.abc.MessageableChannel | None:
        """Return a channel of this server, or None: an admin may have entered any id."""
        guild = self._guild
        place = None if guild is None else guild.get_channel_or_thread(channel_id)
        return place if isinstance(place, discord.abc.Messageable) else None

    def _cached_message(self, message_id: int) -> discord.Message | None:
        """Return a message of this channel if it is already in memory."""
        if self._message is not None and self._message.id == message_id:
            return self._message
        newest_first = reversed(self._client.cached_messages)
        cached = next((one for one in newest_first if one.id == message_id), None)
        places = (self.channel_id, getattr(self._begun_in(message_id), "id", None))
        if cached is not None and cached.channel.id in places:
            return cached
        return self._fetched.get(message_id)

    def _partial(self, message_id: int) -> discord.PartialMessage:
        channel = self._begun_in(message_id) or self._channel
        return discord.PartialMessage(channel=channel, id=message_id)

    def _emoji(self, emoji: str) -> str | discord.Emoji:
        guild = self._guild
        own = () if guild is None else guild.emojis
        return discord.utils.get(own, name=emoji.strip(":")) or emoji


async def _opened(
    channel: discord.TextChannel, name: str, message_id: int | None
) -> discord.Thread:
    if message_id is None:
        return await channel.create_thread(name=name, type=discord.ChannelType.public_thread)
    known = channel.guild.get_thread(message_id)
    if known is not None:
        return known
    try:
        message = discord.PartialMessage(channel=channel, id=message_id)
        return await message.create_thread(name=name)
    except discord.HTTPException as error:
        if error.code != HAS_THREAD:
            raise
    found = await channel.guild.fetch_channel(message_id)
    assert isinstance(found, discord.Thread)
    return found


def may_open_threads(channel: discord.TextChannel) -> bool:
    allowed = channel.permissions_for(channel.guild.me)
    return allowed.create_public_threads and allowed.send_messages_in_threads


def is_beside(
    source: discord.abc.MessageableChannel, thread: discord.abc.MessageableChannel
) -> bool:
    """Return whether everybody who reads a thread may read this place, too."""
    if not isinstance(thread, discord.Thread):
        return False
    if isinstance(source, discord.Thread):
        return source.parent_id == thread.parent_id and not source.is_private()
    return source.id == thread.parent_id


async def _face_there(sink: DiscordSink, face: WebhookFace | None) -> WebhookFace | None:
    """Return `face`, or None if there is no webhook and the bot sends under its own name."""
    try:
        if face is not None:
            await sink.open_webhook()
    except DiscordRefusalError:
        return None
    return face


def _thread_of(channel: discord.abc.MessageableChannel) -> dict[str, Any]:
    """Return what a `ChannelInfo` says about a thread: where it is, and the tags of a post."""
    parent = channel.parent if isinstance(channel, discord.Thread) else None
    if parent is None or not isinstance(channel, discord.Thread):
        return {}
    return {
        "parent_name": plain_words(parent.name),
        "is_post": isinstance(parent, discord.ForumChannel),
        "tags": tuple(plain_words(tag.name) for tag in channel.applied_tags),
    }


def _topic(channel: discord.abc.MessageableChannel) -> str:
    """Return the channel's topic. A thread has the topic of its parent."""
    place = channel.parent if isinstance(channel, discord.Thread) else channel
    return getattr(place, "topic", None) or ""


# Past messages: received ones come from memory, others from Discord.


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
        read = await _read_history(client_state, channel, before, limit)
        client_state.histories.on_read("discord")
    except NOT_FOUND as error:
        log.warning("channel %s: its history cannot be read: %s", channel.id, error)
        if _is_refused(error):
            return []
        read = _received_messages(client, channel.id, before, limit)
        client_state.histories.on_read("received")
    return read[::-1]


async def _read_history(
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


def _received_messages(
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
    """Return whether Discord refused the request. Any other error is an outage."""
    return isinstance(error, discord.HTTPException) and error.status < 500
