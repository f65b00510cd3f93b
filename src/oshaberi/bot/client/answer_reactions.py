"""Reactions to the bot's messages: delete, again, continue, good, bad, or told to the model.

A reaction gives no rights that its author does not have, and nobody is told if it is refused. The
reactions of bots are ignored, and so is a flood of them.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import deque
from dataclasses import replace
from typing import Literal, cast

import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_values import path_of, person_of
from oshaberi.bot.client.message_reader import MessageReader
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.conversation.messages import ChannelPath, Person
from oshaberi.bot.conversation.turn_config import NO_EMOJI, TurnConfig
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import AnswerReaction, TurnRecord, Verdict
from oshaberi.bot.turns.admission.questions import Claim
from oshaberi.bot.turns.admission.rules import unlisted
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.clocks import loop_time_s
from oshaberi.discord_io import ClientState

log = logging.getLogger(__name__)

Meaning = Literal["delete", "again", "continue", "good", "bad", "other"]

MOST_AT_ONCE = 6
WITHIN_SECONDS = 20.0
"""How many reactions of one user count within that time; the others are ignored."""
USERS_KEPT = 4000
LONGEST_EMOJI = 40
SAME_SECONDS = 60
"""Within this time the same reaction of the same user has one effect, in all processes."""
VERDICTS: dict[Meaning, Verdict] = {"good": 1, "bad": -1}


def meaning_of(emoji: str, config: TurnConfig) -> Meaning | None:
    """Return what a reaction means in a channel; None if it means nothing there."""
    if config.reaction_actions:
        meanings: dict[Meaning, str] = {
            "delete": config.reaction_delete,
            "again": config.reaction_again,
            "continue": config.reaction_continue,
            "good": config.reaction_good,
            "bad": config.reaction_bad,
        }
        for meaning, chosen in meanings.items():
            if chosen != NO_EMOJI and plain_emoji(chosen) == plain_emoji(emoji):
                return meaning
    return "other" if config.reactions_in_context else None


def plain_emoji(emoji: str) -> str:
    """Return an emoji without skin tone and variation selector; a custom emoji's name."""
    if emoji.startswith("<") and emoji.count(":") == 2:
        emoji = emoji.split(":")[1]
    return "".join(one for one in emoji.strip(":") if one not in _FORMS)


_FORMS = frozenset(["\N{VARIATION SELECTOR-16}", *map(chr, range(0x1F3FB, 0x1F400))])


class RecentReactions:
    """Limits how many reactions of one user count."""

    def __init__(self) -> None:
        self._times: BoundedCache[int, deque[float]] = BoundedCache(USERS_KEPT)

    def allows(self, user_id: int, now_s: float) -> bool:
        times = self._times.get(user_id) or deque(maxlen=MOST_AT_ONCE)
        if len(times) == MOST_AT_ONCE and now_s - times[0] < WITHIN_SECONDS:
            return False
        times.append(now_s)
        self._times.put(user_id, times)
        return True


class AnswerReactions:
    """Acts on the reactions that a client receives. `claim` decides which process does."""

    def __init__(
        self,
        context: BotContext,
        reader: MessageReader,
        claim: Claim | None = None,
    ) -> None:
        self._context = context
        self._reader = reader
        self._client = reader.client
        self._claim = claim
        self._recent = RecentReactions()

    async def added(
        self, reaction: discord.RawReactionActionEvent, client_state: ClientState
    ) -> None:
        if not self._is_of_person(reaction):
            return
        channel = self._client.get_channel(reaction.channel_id)
        if reaction.guild_id is not None and not isinstance(channel, discord.abc.Messageable):
            return  # an archived thread, or a channel that the bot cannot see
        path = ChannelPath(0, reaction.channel_id)
        if isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            path = path_of(cast(discord.TextChannel, channel))
        config = (await self._context.services.settings(path)).turn
        meaning = meaning_of(str(reaction.emoji), config)
        if meaning is None or not self._recent.allows(reaction.user_id, loop_time_s()):
            return
        turn = await self._context.db.turns.of_message(reaction.message_id)
        if turn is None or turn.channel_id != reaction.channel_id:
            return
        place = await self._place(channel, reaction)
        if place is None or not isinstance(place, discord.abc.Messageable):
            return
        person = self._person(reaction, place)
        if person is None or unlisted(person, path, config):
            return
        if meaning in ("good", "bad", "other"):
            await self._note(reaction, turn, meaning)
        elif await self._is_ours(reaction):
            there = cast(discord.TextChannel, place)
            turn_channel = DiscordTurnChannel(self._reader, client_state, there)
            await self._act(meaning, reaction.message_id, turn_channel, person)

    async def removed(self, reaction: discord.RawReactionActionEvent) -> None:
        """Forget a reaction that its author removed."""
        if not self._is_of_person(reaction):
            return
        path = ChannelPath(reaction.guild_id or 0, reaction.channel_id)
        channel = self._client.get_channel(reaction.channel_id)
        if isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            path = path_of(cast(discord.TextChannel, channel))
        meaning = meaning_of(
            str(reaction.emoji), (await self._context.services.settings(path)).turn
        )
        if meaning not in ("good", "bad", "other"):
            return
        if self._recent.allows(reaction.user_id, loop_time_s()):
            emoji = _stored_emoji(reaction.emoji)
            await self._context.db.reactions.remove(reaction.message_id, reaction.user_id, emoji)

    async def cleared(self, message_id: int, emoji: discord.PartialEmoji | None = None) -> None:
        """Forget everybody's reactions to a message, or those with one emoji.

        A moderator has removed them, so no setting or limit applies.
        """
        stored = None if emoji is None else _stored_emoji(emoji)
        try:
            await self._context.db.reactions.clear(message_id, stored)
        except StorageAwayError as error:
            log.info("reactions were not forgotten: %s", error)

    def _is_of_person(self, reaction: discord.RawReactionActionEvent) -> bool:
        """Return whether a person whom the bot may read reacted to what may be its message."""
        me, member = self._client.user, reaction.member
        if me is None or reaction.user_id == me.id or (member is not None and member.bot):
            return False
        if reaction.user_id in self._context.db.opt_outs:
            return False
        guild = None if reaction.guild_id is None else self._client.get_guild(reaction.guild_id)
        author_id = reaction.message_author_id
        if author_id is None or author_id == me.id or guild is None:
            return True
        return guild.get_member(author_id) is None  # a webhook is no member

    async def _place(
        self, channel: object, reaction: discord.RawReactionActionEvent
    ) -> object | None:
        """Return the channel. A direct message's channel may not be known yet."""
        if channel is not None or reaction.guild_id is not None:
            return channel
        try:
            return await self._client.fetch_channel(reaction.channel_id)
        except discord.DiscordException as error:
            log.info("a reaction in channel %s: %s", reaction.channel_id, error)
            return None

    def _person(
        self, reaction: discord.RawReactionActionEvent, place: discord.abc.Messageable
    ) -> Person | None:
        """Return who reacted, with their rights; None if they may not write there themselves."""
        if reaction.guild_id is None:
            user = self._client.get_user(reaction.user_id)
            return Person(reaction.user_id, "") if user is None else person_of(user)
        member = reaction.member
        if member is None:
            return None
        try:
            allowed = cast(discord.TextChannel, place).permissions_for(member)
        except discord.ClientException:
            return None  # a thread whose parent we do not see
        in_thread = isinstance(place, discord.Thread)
        may_write = allowed.send_messages_in_threads if in_thread else allowed.send_messages
        if not (allowed.view_channel and may_write):
            return None
        return replace(
            person_of(member),
            can_manage_server=allowed.manage_guild,
            can_manage_messages=allowed.manage_messages,
            can_read_history=allowed.read_message_history,
            can_add_reactions=allowed.add_reactions,
        )

    async def _note(
        self, reaction: discord.RawReactionActionEvent, turn: TurnRecord, meaning: Meaning
    ) -> None:
        noted = AnswerReaction(
            turn.channel_id,
            turn.server_id,
            reaction.message_id,
            reaction.user_id,
            _stored_emoji(reaction.emoji),
            VERDICTS.get(meaning, 0),
        )
        try:
            await self._context.db.reactions.add(noted)
        except StorageAwayError as error:
            log.info("a reaction was not noted: %s", error)

    async def _is_ours(self, reaction: discord.RawReactionActionEvent) -> bool:
        """Return whether this process acts on a reaction. It has no id, so its minute counts."""
        if self._claim is None:
            return True
        minute = int(time.time()) // SAME_SECONDS
        said = f"{reaction.message_id} {reaction.user_id} {reaction.emoji} {minute}"
        digest = hashlib.blake2b(said.encode(), digest_size=7).digest()
        return await self._claim(int.from_bytes(digest) | 1 << 63)

    async def _act(
        self, meaning: Meaning, message_id: int, turn_channel: DiscordTurnChannel, by: Person
    ) -> None:
        turns = self._context.channel_turns
        if meaning == "delete":
            reply = await turns.delete(turn_channel, message_id, by)
        elif meaning == "again":
            reply = await turns.regenerate(turn_channel, by, message_id)
        else:
            reply = await turns.continue_(turn_channel, by, message_id)
        if not reply.ok:
            log.debug("a reaction to message %s was refused: %s", message_id, reply.text)


def _stored_emoji(emoji: discord.PartialEmoji) -> str:
    name = emoji.name or ""
    return (f":{name}:" if emoji.id is not None else name)[:LONGEST_EMOJI]
