"""Reads discord.py's messages for a turn: which are conversation, who wrote them, what they say.

A proxy bot's message counts as a message of the person who speaks through it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import aiohttp
import discord

from oshaberi.bot.client.discord_values import (
    AnyUser,
    RecentMembers,
    author_of,
    distinct_people,
    embed_texts,
    is_age_restricted,
    message_value,
    path_of,
    replied_id,
    roles_of,
    talk_place,
    typed_text,
)
from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person
from oshaberi.bot.conversation.server_reading import SearchPace
from oshaberi.bot.storage.records import TalkStart
from oshaberi.bot.turns.admission.rules import UnaddressedMessage
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.discord_io.channels import may_write
from oshaberi.discord_io.requests.parameters import is_reply_notice

StartOf = Callable[[int], Awaitable[TalkStart]]


async def at_the_beginning(_channel_id: int) -> TalkStart:
    return TalkStart()


NOT_FOUND = (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError)
"""Errors after which a message counts as not found."""
RECENT_MESSAGES = 2000
LOCALES_KEPT = 10_000
WITHIN = timedelta(seconds=15)
"""How long after a person's message a proxy bot may repeat it."""
MOST_TAGS = 100
"""How many characters a proxy bot's tags around a text may have."""
_MENTION = re.compile(r"<@!?(&?\d+)>")


class MessageReader:
    """Reads messages for one client. `opt_outs` are users whose messages it does not read."""

    def __init__(
        self,
        client: discord.Client,
        opt_outs: Container[int] = frozenset(),
        start_of: StartOf = at_the_beginning,
    ) -> None:
        self.client = client
        self.start_of = start_of
        """Returns where the conversation of a channel begins."""
        self.recent_members = RecentMembers()
        self.locales: BoundedCache[int, str] = BoundedCache(LOCALES_KEPT)
        """The language of users who recently used a command, a button or a form, and of the DM
        channels where they did."""
        self.searches = SearchPace()
        self.begun_with_none: BoundedCache[int, bool] = BoundedCache(RECENT_MESSAGES)
        """Threads that were not started from a message."""
        self._opt_outs = opt_outs
        self._recent: deque[discord.Message] = deque(maxlen=RECENT_MESSAGES)
        """What people wrote recently. discord.py forgets a message as soon as it is deleted."""
        self._originals: BoundedCache[int, discord.Message] = BoundedCache(RECENT_MESSAGES)
        """The original of each proxy bot's copy. A copy can be edited, so its words may differ."""

    def locale_of_direct(
        self, channel: discord.abc.MessageableChannel, message: discord.Message | None
    ) -> str | None:
        """Return the language of the other user of a direct message channel, if it is known.

        The gateway does not say which user a direct message channel belongs to.
        """
        users = [one.id for one in getattr(channel, "recipients", ())]
        users += [] if message is None else [message.author.id]
        return next(filter(None, map(self.locales.get, (*users, channel.id))), None)

    def is_ours(self, message: discord.Message) -> bool:
        """Return whether the bot or one of its webhooks sent the message."""
        me = self.client.user
        if me is not None and message.author.id == me.id:
            return True
        if message.webhook_id is None or self.client.application_id is None:
            return False
        return message.application_id == self.client.application_id

    def is_talk(self, message: discord.Message) -> bool:
        """Return whether a message is conversation.

        System messages, reply notices, answers to commands and logged thoughts are not.
        """
        is_ordinary = message.type is discord.MessageType.default
        if (not is_ordinary and message.is_system()) or self.is_by_opted_out(message):
            return False
        source = _source_of(message)
        if source is message and message.type is discord.MessageType.thread_starter_message:
            return False  # the message from which the thread was started is gone
        if not self.is_ours(source):
            return True
        if source.interaction_metadata is not None or is_reply_notice(source.content):
            return False
        return bool(source.content or source.attachments or embed_texts(source, is_ours=True))

    def is_new_talk(self, message: discord.Message) -> bool:
        """Return whether a message can get an answer: new conversation by somebody else.

        A thread that is started from a message begins with that message again.
        """
        is_repeated = message.type is discord.MessageType.thread_starter_message
        return not is_repeated and not self.is_ours(message) and self.is_talk(message)

    def is_by_opted_out(self, message: discord.Message) -> bool:
        """Return whether the author has told the bot not to read them (`/privacy opt-out`)."""
        if message.author.id in self._opt_outs:
            return True
        source = _source_of(message)
        return source is not message and source.author.id in self._opt_outs

    def asker(self, message: discord.Message) -> AnyUser | None:
        """Return the author of a message, None if it was the bot or a webhook."""
        if not self._is_by_person(message):
            return None
        return self.recent_members.latest(message.author, message.guild)

    def _is_by_person(self, message: discord.Message) -> bool:
        """Return whether the author of a message can be mentioned."""
        return message.webhook_id is None and not self.is_ours(message)

    def talk_in(self, messages: Iterable[discord.Message]) -> list[discord.Message]:
        """Return the messages that are conversation."""
        return [message for message in messages if self.is_talk(message)]

    def channel_messages(
        self, messages: Iterable[discord.Message], viewer: AnyUser | None
    ) -> tuple[ChannelMessage, ...]:
        return tuple(self.channel_message(message, viewer) for message in messages)

    def channel_message(
        self, message: discord.Message, viewer: AnyUser | None = None
    ) -> ChannelMessage:
        """Return the message as `viewer` may read it; with None, as everybody may read it."""
        source = _source_of(message)
        value = message_value(
            source, self.recent_members, viewer, self._our_id, is_ours=self.is_ours(source)
        )
        # The first message of a thread counts as the one it was started from, which keeps its id.
        return value if source is message else replace(value, at=message.created_at)

    def people(
        self, channel: discord.abc.MessageableChannel, newest_first: Sequence[discord.Message]
    ) -> tuple[Person, ...]:
        """Return the authors of messages, then those whom they mention; not the bot."""
        users = self._users(channel, newest_first)
        return distinct_people(users, self.recent_members, channel, self._our_id)

    def _users(
        self, channel: discord.abc.MessageableChannel, messages: Sequence[discord.Message]
    ) -> Iterator[AnyUser]:
        for message in messages:
            if self._is_by_person(message):
                yield message.author
        for message in messages:
            yield from message.mentions
        if isinstance(channel, discord.DMChannel):
            yield from channel.recipients

    @property
    def _our_id(self) -> int | None:
        me = self.client.user
        return None if me is None else me.id

    def remember(self, message: discord.Message) -> None:
        """Keep a person's message, to recognise it if a proxy bot repeats it."""
        if message.webhook_id is None and message.guild is not None and not message.author.bot:
            self._recent.append(message)

    def unaddressed(self, message: discord.Message) -> UnaddressedMessage | None:
        """Return a person's message as an `UnaddressedMessage`.

        Returns None if the message addresses the bot, or if only `incoming` can find that out.
        """
        author, guild = message.author, message.guild
        is_person = message.webhook_id is None and not author.bot
        if guild is None or not is_person or not isinstance(author, discord.Member):
            return None
        is_reply = message.type is discord.MessageType.reply
        if not is_reply and message.type is not discord.MessageType.default:
            return None
        has_mentions = message.mentions or message.role_mentions or message.mention_everyone
        if has_mentions and self.mentions_us(message):
            return None
        if is_reply and not self._replies_to_others(message):
            return None
        self.recent_members.meet(message)
        words = typed_text(message)
        return UnaddressedMessage(
            id=message.id,
            path=path_of(message.channel),
            user_id=author.id,
            role_ids=partial(roles_of, author),
            text=message.content if words is None else words,
            is_for_others=(is_reply and not _replies_to_author(message))
            or bool(has_mentions and self.mentions_others(message)),
            bot_name=guild.me.display_name,
            talk_place=talk_place(message.channel, self._our_id),
        )

    def _replies_to_others(self, message: discord.Message) -> bool:
        """Return whether a message replies to another user's message, which Discord sent along."""
        known = None if message.reference is None else message.reference.resolved
        return isinstance(known, discord.Message) and not self.is_ours(known)

    async def incoming(self, message: discord.Message) -> IncomingMessage:
        channel = message.channel
        path = path_of(channel)
        self.recent_members.meet(message)
        await self.meet_author(message)
        original = self._original(message)
        # A webhook cannot reply: the copy of a reply only looks like one.
        replied = await self._find_replied(original or message)
        copy = self.channel_message(message, message.author)
        return IncomingMessage(
            said=copy if original is None else self._attribute(copy, original),
            channel_id=path.channel_id,
            server_id=path.server_id,
            parent_id=path.parent_id,
            mentions_us=self.mentions_us(message),
            can_answer=may_write(channel),
            replied=None if replied is None else self.channel_message(replied, message.author),
            category_id=path.category_id,
            is_age_restricted=is_age_restricted(channel),
            mentions_others=self.mentions_others(message),
            copied_id=None if original is None else original.id,
            webhook=None if original is None else copy.author,
            bot_name="" if message.guild is None else message.guild.me.display_name,
            talk_place=talk_place(channel, self._our_id),
        )

    def is_opted_out_copy(self, incoming: IncomingMessage) -> bool:
        """Return whether a proxy bot repeated the words of an opted-out user."""
        return incoming.copied_id is not None and incoming.user_id in self._opt_outs

    def mentions_us(self, message: discord.Message) -> bool:
        """Return whether a message mentions the bot, or the role with the bot's name."""
        if any(user.id == self._our_id for user in message.mentions):
            return True
        role = None if message.guild is None else message.guild.self_role
        return role is not None and role in message.role_mentions

    def mentions_others(self, message: discord.Message) -> bool:
        """Return whether a message mentions another user, another role or everybody.

        A reply to a message of one's own mentions oneself.
        """
        role = None if message.guild is None else message.guild.self_role
        known = {message.author.id, self._our_id}
        users = any(user.id not in known for user in message.mentions)
        return users or message.mention_everyone or any(r != role for r in message.role_mentions)

    def _original(self, message: discord.Message) -> discord.Message | None:
        """Return the message that a proxy bot's message repeats, if it is known."""
        if message.webhook_id is None:
            return None
        found = self._originals.get(message.id) or original_of(message, reversed(self._recent))
        if found is not None:
            self._originals.put(message.id, found)
        return found

    def _attribute(self, copy: ChannelMessage, original: discord.Message) -> ChannelMessage:
        """Return a proxy's message as that of the person who speaks through it."""
        allowed = author_of(original, self.recent_members)
        author = replace(
            copy.author,
            id=allowed.id,
            can_manage_server=allowed.can_manage_server,
            can_manage_messages=allowed.can_manage_messages,
            can_read_history=allowed.can_read_history,
            can_add_reactions=allowed.can_add_reactions,
            role_ids=allowed.role_ids,
        )
        return replace(copy, author=author, reply_to=replied_id(original))

    async def meet_author(self, message: discord.Message) -> None:
        """Fetch a person as a member: messages from a history come without it."""
        guild, author = message.guild, message.author
        if guild is None or not self._is_by_person(message):
            return
        if not isinstance(self.recent_members.latest(author, guild), discord.Member):
            with suppress(*NOT_FOUND):
                self.recent_members.add(await guild.fetch_member(author.id))

    async def find_user(
        self, user_id: int, channel: discord.abc.MessageableChannel
    ) -> AnyUser | None:
        """Return a member of the channel's server, or the other user of a direct message.

        None if they are not there. Raises if Discord does not answer.
        """
        guild = getattr(channel, "guild", None)
        try:
            if guild is None:
                known = {one.id: one for one in getattr(channel, "recipients", ())}
                return known.get(user_id) or await self.client.fetch_user(user_id)
            member: discord.Member = await guild.fetch_member(user_id)
        except discord.NotFound:
            return None
        self.recent_members.add(member)
        return member

    async def _find_replied(self, message: discord.Message) -> discord.Message | None:
        """Return the message that this one replies to, from memory or from Discord."""
        number = replied_id(message)
        if number is None or message.reference is None:
            return None
        known = message.reference.resolved
        elsewhere = message.reference.channel_id != message.channel.id
        if elsewhere or isinstance(known, discord.DeletedReferencedMessage):
            return None
        try:
            found = (
                known
                if isinstance(known, discord.Message)
                else await message.channel.fetch_message(number)
            )
        except NOT_FOUND:
            return None
        return None if self.is_by_opted_out(found) else found


def _replies_to_author(message: discord.Message) -> bool:
    """Return whether somebody replies to a message of their own."""
    known = None if message.reference is None else message.reference.resolved
    return isinstance(known, discord.Message) and known.author.id == message.author.id


def _source_of(message: discord.Message) -> discord.Message:
    """Return the original of the empty message that starts a thread; any other unchanged."""
    if message.type is discord.MessageType.thread_starter_message and message.reference:
        known = message.reference.resolved
        if isinstance(known, discord.Message):
            return known
    return message


# Proxy bots (PluralKit, Tupperbox) post a person's message again through a webhook, without the
# tags around it, and then delete the original. The original is the message that has the same words
# and mentions, and the least in addition. `bot.turns.admission.questions` makes sure that only one
# of the two is answered.


def original_of(
    copy: discord.Message, newest_first: Iterable[discord.Message]
) -> discord.Message | None:
    """Return the person's message that a webhook's message repeats, if it is known.

    A short text is often a part of what others wrote, so the closest message counts, or the newest
    of equally close ones.
    """
    if copy.webhook_id is None:
        return None
    since = discord.utils.time_snowflake(copy.created_at - WITHIN)
    closest, fewest = None, MOST_TAGS + 1
    for message in newest_first:
        if message.id <= since:
            break
        if message.id < copy.id and message.channel.id == copy.channel.id:
            is_person = message.webhook_id is None and not message.author.bot
            tags = _length_of_tags(copy, message) if is_person else None
            if tags is not None and tags < fewest:
                closest, fewest = message, tags
    return closest


def _length_of_tags(copy: discord.Message, original: discord.Message) -> int | None:
    """Return how much longer the original is; None if the copy does not repeat it.

    PluralKit makes `@Ann hello` of `@Ann m: hello`, so mentions are compared by themselves.
    """
    if not copy.content.strip():
        names = [file.filename for file in copy.attachments]
        is_same = bool(names) and names == [file.filename for file in original.attachments]
        return len(original.content) if is_same else None
    if _MENTION.findall(copy.content) != _MENTION.findall(original.content):
        return None
    words, whole = _words(copy.content), _words(original.content)
    return len(whole) - len(words) if words in whole else None


def _words(content: str) -> str:
    return " ".join(_MENTION.sub(" ", content).split())
