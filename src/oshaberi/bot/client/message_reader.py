"""Turns discord.py's messages into the values of a turn, also those of proxy bots."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import aiohttp
import discord

from oshaberi.bot.client.message_text import (
    attached,
    embed_text,
    files_of,
    readable,
    source_of,
    typed,
)
from oshaberi.bot.client.people import (
    AnyUser,
    RecentMembers,
    is_age_restricted,
    path_of,
    person_of,
    roles_of,
)
from oshaberi.bot.conversation.messages import (
    ChannelMessage,
    IncomingMessage,
    Person,
)
from oshaberi.bot.turns.admission.rules import UnaddressedMessage
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.shown_reasoning import is_logged_thought
from oshaberi.discord_io.channels import may_write
from oshaberi.discord_io.requests.parameters import is_reply_notice

# Finds whose words a proxy bot (PluralKit, Tupperbox) repeats.
#
# A proxy bot posts a person's message again through a webhook, without the tags around it, and
# then deletes the original. The original is the message that has the same words and mentions, and
# the least besides. `bot.turns.admission.questions` makes sure that only one of the two is
# answered.


WITHIN = timedelta(seconds=15)
MOST_TAGS = 100
"""How many characters the tags around a text may have."""
_MENTION = re.compile(r"<@!?(&?\d+)>")


def original_of(
    copy: discord.Message, newest_first: Iterable[discord.Message]
) -> discord.Message | None:
    """Return the person's message that a webhook's message repeats, if it is known.

    A short text is often a part of what others wrote, so the closest message counts; of equally
    close ones the newest.
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


# Turns discord.py's messages into the values of a turn.


NOT_FOUND = (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError)
"""Errors after which a message counts as not found."""
RECENT_MESSAGES = 2000
LOCALES_KEPT = 10_000


class MessageReader:
    """Reads messages for one client. `opt_outs` are users whose messages it does not read."""

    def __init__(self, client: discord.Client, opt_outs: Container[int] = ()) -> None:
        self.client = client
        self.recent_members = RecentMembers()
        self.locales: BoundedCache[int, str] = BoundedCache(LOCALES_KEPT)
        """The language of users who recently used a command, a button or a form, and of the DM
        channels where they did."""
        self._opt_outs = opt_outs
        self._recent: deque[discord.Message] = deque(maxlen=RECENT_MESSAGES)
        """What people wrote recently. discord.py forgets a message as soon as it is deleted."""
        self._originals: BoundedCache[int, discord.Message] = BoundedCache(RECENT_MESSAGES)
        """The originals of proxies' copies, which can be edited: then the words differ."""

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
        if not self.is_ours(message):
            return True
        if message.interaction_metadata is not None or is_reply_notice(message.content):
            return False
        return bool(message.content or message.attachments or _embed_texts(message, ours=True))

    def is_new_talk(self, message: discord.Message) -> bool:
        """Return whether a message can get an answer: talk of others, not repeated by Discord.

        A thread that is started on a message begins with that message again.
        """
        is_repeated = message.type is discord.MessageType.thread_starter_message
        return not is_repeated and not self.is_ours(message) and self.is_talk(message)

    def is_by_opted_out(self, message: discord.Message) -> bool:
        """Return whether the author has told the bot not to read them (`/privacy opt-out`)."""
        if message.author.id in self._opt_outs:
            return True
        source = source_of(message)
        return source is not message and source.author.id in self._opt_outs

    def is_person(self, message: discord.Message) -> bool:
        """Return whether the author of a message can be mentioned."""
        return message.webhook_id is None and not self.is_ours(message)

    def said(self, message: discord.Message, viewer: AnyUser | None = None) -> ChannelMessage:
        """Return the message as `viewer` may read it; with None, as everybody may read it."""
        source = source_of(message)
        ours = self.is_ours(source)
        return ChannelMessage(
            id=message.id,
            author=self._author(source),
            text=readable(source, self.recent_members, viewer),
            at=message.created_at,
            by_us=ours,
            shown_as=source.author.display_name if ours else None,
            files=tuple(attached(file) for file in files_of(source)),
            reply_to=_reply_to(source),
            embeds=_embed_texts(source, ours=ours),
            mentions=self._mentioned(source),
            typed=typed(source),
        )

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
        words = typed(message)
        return UnaddressedMessage(
            id=message.id,
            path=path_of(message.channel),
            user_id=author.id,
            role_ids=partial(roles_of, author),
            text=message.content if words is None else words,
            is_for_others=(is_reply and not _replies_to_author(message))
            or bool(has_mentions and self.mentions_others(message)),
            bot_name=guild.me.display_name,
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
        replied = await self._replied(original or message)
        said = self.said(message, message.author)
        return IncomingMessage(
            said=self._said_for(said, original),
            channel_id=path.channel_id,
            server_id=path.server_id,
            parent_id=path.parent_id,
            mentions_us=self.mentions_us(message),
            can_answer=may_write(channel),
            replied=None if replied is None else self.said(replied, message.author),
            category_id=path.category_id,
            is_age_restricted=is_age_restricted(channel),
            mentions_others=self.mentions_others(message),
            copied_id=None if original is None else original.id,
            webhook=None if original is None else said.author,
            bot_name="" if message.guild is None else message.guild.me.display_name,
        )

    def is_opted_out_copy(self, incoming: IncomingMessage) -> bool:
        """Return whether a proxy bot repeated the words of an opted-out user."""
        return incoming.copied_id is not None and incoming.user_id in self._opt_outs

    def mentions_us(self, message: discord.Message) -> bool:
        """Return whether a message mentions the bot, or the role with the bot's name."""
        me = self.client.user
        if me is not None and any(user.id == me.id for user in message.mentions):
            return True
        role = None if message.guild is None else message.guild.self_role
        return role is not None and role in message.role_mentions

    def mentions_others(self, message: discord.Message) -> bool:
        """Return whether a message mentions another user, another role or everybody.

        A reply to a message of one's own mentions oneself.
        """
        me = self.client.user
        role = None if message.guild is None else message.guild.self_role
        known = {message.author.id} if me is None else {message.author.id, me.id}
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

    def _said_for(self, said: ChannelMessage, original: discord.Message | None) -> ChannelMessage:
        """Return a proxy's message as that of the person who speaks through it."""
        if original is None:
            return said
        allowed = self._author(original)
        author = replace(
            said.author,
            id=allowed.id,
            can_manage_server=allowed.can_manage_server,
            can_manage_messages=allowed.can_manage_messages,
            can_read_history=allowed.can_read_history,
            can_add_reactions=allowed.can_add_reactions,
            role_ids=allowed.role_ids,
        )
        return replace(said, author=author, reply_to=_reply_to(original))

    async def meet_author(self, message: discord.Message) -> None:
        """Fetch the author as a member: messages from a history come without it."""
        guild, author = message.guild, message.author
        if guild is None or message.webhook_id is not None:
            return
        if not isinstance(self.recent_members.known(author, guild), discord.Member):
            with suppress(*NOT_FOUND):
                self.recent_members.add(await guild.fetch_member(author.id))

    async def _replied(self, message: discord.Message) -> discord.Message | None:
        number = _reply_to(message)
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

    def _mentioned(self, message: discord.Message) -> tuple[Person, ...]:
        me, known = self.client.user, self.recent_members.known
        others = (user for user in message.mentions if me is None or user.id != me.id)
        return tuple(person_of(known(user, message.guild)) for user in others)

    def _author(self, message: discord.Message) -> Person:
        author = self.recent_members.known(message.author, message.guild)
        if message.webhook_id is None:
            return person_of(author, message.channel)
        speaker = person_of(author, message.channel, is_account=False)
        spoken_by = message.application_id or message.webhook_id
        return replace(speaker, is_bot=True, application_id=spoken_by)


def _replies_to_author(message: discord.Message) -> bool:
    """Return whether somebody replies to a message of their own."""
    known = None if message.reference is None else message.reference.resolved
    return isinstance(known, discord.Message) and known.author.id == message.author.id


def _embed_texts(message: discord.Message, *, ours: bool) -> tuple[str, ...]:
    """Return what embeds say. The bot's thoughts are no part of a conversation."""
    read = [one for one in message.embeds if not (ours and is_logged_thought(one.title or ""))]
    return tuple(filter(None, map(embed_text, read)))


def _reply_to(message: discord.Message) -> int | None:
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    return message.reference.message_id
