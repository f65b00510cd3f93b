"""Keeps the histories of channels up to date with the gateway's events, so that each is read once.

A history is kept from the moment it was read. It is dropped whenever a message could have been
missed: after a lost session, an unavailable server, or changed permissions. Threads are not kept: a
bot that is not in a thread may not get its messages.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import discord

from oshaberi.clocks import loop_time_s

MOST_MESSAGES = 10_000
"""How many messages are kept in all channels together; the most recently used channels keep theirs.
Until a channel is read again there may be half as many more. A message takes 2 to 3 kB."""
MOST_KEPT = 1.5
"""How many messages a channel keeps, as a multiple of those that a reading asked for. Some are
newer than the question."""
LONGEST_SECONDS = 3600.0
"""How long a history is kept. Then it is read again: links to files are valid for a day only."""
KEPT_KINDS = (discord.TextChannel, discord.VoiceChannel, discord.StageChannel, discord.DMChannel)

HISTORY_SOURCES = ("memory", "discord", "received")
"""Where a turn gets a channel's past messages: a kept history, a request, or, while Discord is
away, single messages that the bot has received."""

IsLive = Callable[[int], bool]
"""Decides whether the events of a server (0: direct messages) arrive, as far as that is known."""


def never_live(_guild_id: int) -> bool:
    """Return False, for a client that does not pass its events on: no history is kept."""
    return False


class ReceivedHistory:
    """The newest messages of one channel, without a gap between them."""

    def __init__(self, guild_id: int, began_s: float) -> None:
        self.guild_id = guild_id
        self.began_s = began_s
        self.is_kept = False
        """False while the history is being read."""
        self.is_spoilt = False
        """The channel changed while it was being read, so the result may be outdated."""
        self._messages: dict[int, discord.Message] = {}
        self._has_beginning = False
        self._depth = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, message_id: int) -> bool:
        return message_id in self._messages

    def add(self, message: discord.Message) -> None:
        self._messages[message.id] = message

    def complete(self, read: Iterable[discord.Message], limit: int) -> None:
        """Add the messages that were read to those that were received meanwhile."""
        older = {message.id: message for message in read}
        self._has_beginning = len(older) < limit
        self._messages = older | self._messages
        self._depth = limit
        self.is_kept = True

    def change(self, message: discord.Message) -> None:
        if message.id in self._messages:
            self._messages[message.id] = message

    def remove(self, message_ids: Iterable[int]) -> None:
        for message_id in message_ids:
            self._messages.pop(message_id, None)

    def trim(self) -> None:
        """Drop the oldest messages when there are half as many more as a reading asked for."""
        if len(self._messages) >= MOST_KEPT * self._depth:
            newest = sorted(self._messages)[-self._depth :]
            self._messages = {message_id: self._messages[message_id] for message_id in newest}
            self._has_beginning = False

    def newest(self, before: int | None, limit: int) -> list[discord.Message] | None:
        """Return the newest messages, newest first; None if the history is not that long."""
        older = (one for one in self._messages if before is None or one < before)
        ids = sorted(older, reverse=True)
        if len(ids) < limit and not self._has_beginning:
            return None
        return [self._messages[one] for one in ids[:limit]]


class ReceivedHistories:
    """The histories of one client. Call the `listeners` for each event, before anything awaits."""

    def __init__(
        self, is_live: IsLive = never_live, shard_of: Callable[[int], int] = lambda _guild_id: 0
    ) -> None:
        self.on_read: Callable[[str], None] = lambda _source: None
        """Called with one of HISTORY_SOURCES when a turn has read a history."""
        self._is_live = is_live
        self._shard_of = shard_of
        self._histories: OrderedDict[int, ReceivedHistory] = OrderedDict()
        self._sent: dict[int, set[int]] = {}
        """Messages of the bot that were sent and have not been received yet."""
        self._lost: set[int] = set()
        """Shards that are not connected. If they resume, Discord first sends what they missed."""
        self.listeners: dict[str, Callable[..., None]] = {
            "message": self._note_message,
            "raw_message_edit": self._note_edit,
            "raw_message_delete": lambda gone: self._note_removal(
                gone.channel_id, (gone.message_id,)
            ),
            "raw_bulk_message_delete": lambda gone: self._note_removal(
                gone.channel_id, gone.message_ids
            ),
            "raw_poll_vote_add": self._note_vote,
            "raw_poll_vote_remove": self._note_vote,
            "guild_channel_update": lambda _before, after: self.forget(after.id),
            "guild_channel_delete": lambda channel: self.forget(channel.id),
            "guild_role_update": lambda _before, after: self._forget_guild(after.guild),
            "guild_role_delete": lambda role: self._forget_guild(role.guild),
            "member_update": self._note_member,
            "guild_update": lambda _before, after: self._forget_guild(after),
            "guild_join": self._forget_guild,
            "guild_remove": self._forget_guild,
            "guild_available": self._forget_guild,
            "guild_unavailable": self._forget_guild,
            "shard_connect": self._note_connection,
            "shard_resumed": self._lost.discard,
            "shard_disconnect": self._lost.add,
        }
        """What to call with each event of discord.py, by its name in `dispatch`."""

    def known(
        self, channel: discord.abc.MessageableChannel, before: int | None, limit: int
    ) -> list[discord.Message] | None:
        """Return the newest messages older than `before`, newest first; None if not all are known.

        `limit` counts as in a request to Discord.
        """
        history = self._histories.get(channel.id)
        if history is None or not history.is_kept or not self._is_current(history):
            return None
        if any(sent not in history for sent in self._sent.get(channel.id, ())):
            return None  # what we have just written is part of it
        self._histories.move_to_end(channel.id)
        return history.newest(before, limit)

    @contextmanager
    def reading(
        self, channel: discord.abc.MessageableChannel, before: int | None, limit: int
    ) -> Iterator[Callable[[list[discord.Message]], None]]:
        """Keep the history that is read in this block: call the function with its messages."""
        guild = getattr(channel, "guild", None)
        history = ReceivedHistory(0 if guild is None else guild.id, loop_time_s())
        may_keep = before is None and isinstance(channel, KEPT_KINDS)
        if not may_keep or not self._is_current(history):
            yield lambda _read: None
            return
        self.forget(channel.id)
        self._histories[channel.id] = history
        try:
            yield lambda read: history.complete(read, limit)
        finally:
            # A second reading may have replaced it.
            is_good = history.is_kept and not history.is_spoilt and self._is_current(history)
            if not is_good and self._histories.get(channel.id) is history:
                self.forget(channel.id)
            self._make_room()

    def note_sent(self, channel_id: int, message_id: int) -> None:
        """Note that a message of the bot was sent. Until it is received, the history lacks it."""
        history = self._histories.get(channel_id)
        if history is not None and message_id not in history:
            self._sent.setdefault(channel_id, set()).add(message_id)

    @contextmanager
    def changing(self, channel_id: int) -> Iterator[None]:
        """Change or delete a message of the bot in this block. Its event may come much later."""
        try:
            yield
        finally:
            self.forget(channel_id)

    def forget(self, channel_id: int) -> None:
        """Drop the history of a channel, because it may have changed without an event."""
        history = self._histories.pop(channel_id, None)
        self._sent.pop(channel_id, None)
        if history is not None:
            history.is_spoilt = True

    def _is_current(self, history: ReceivedHistory) -> bool:
        is_lost = self._shard_of(history.guild_id) in self._lost
        is_young = loop_time_s() - history.began_s < LONGEST_SECONDS
        return is_young and not is_lost and self._is_live(history.guild_id)

    def _note_message(self, message: discord.Message) -> None:
        history = self._histories.get(message.channel.id)
        if history is None or message.flags.ephemeral:
            return
        history.add(message)
        if history.is_kept:
            history.trim()
        if sent := self._sent.get(message.channel.id):
            sent.discard(message.id)

    def _note_edit(self, edited: discord.RawMessageUpdateEvent) -> None:
        history = self._histories.get(edited.channel_id)
        if history is None:
            return
        if history.is_kept:
            history.change(edited.message)
        else:
            history.is_spoilt = True

    def _note_removal(self, channel_id: int, message_ids: Iterable[int]) -> None:
        history = self._histories.get(channel_id)
        if history is None:
            return
        if history.is_kept:
            history.remove(message_ids)
        else:
            history.is_spoilt = True
        if sent := self._sent.get(channel_id):
            sent.difference_update(message_ids)

    def _note_vote(self, vote: discord.RawPollVoteActionEvent) -> None:
        """Drop a history with a stale vote count: discord.py counts only known members' votes."""
        history = self._histories.get(vote.channel_id)
        if history is not None and vote.message_id in history:
            self.forget(vote.channel_id)

    def _note_member(self, _before: discord.Member, after: discord.Member) -> None:
        if after == after.guild.me:
            self._forget_guild(after.guild)

    def _forget_guild(self, guild: discord.Guild) -> None:
        self._forget_all(lambda history: history.guild_id == guild.id)

    def _note_connection(self, shard_id: int) -> None:
        """Drop a shard's histories: a new session does not report what was missed."""
        self._lost.discard(shard_id)
        self._forget_all(lambda history: self._shard_of(history.guild_id) == shard_id)

    def _forget_all(self, is_old: Callable[[ReceivedHistory], bool]) -> None:
        for channel_id in [one for one, history in self._histories.items() if is_old(history)]:
            self.forget(channel_id)

    def _make_room(self) -> None:
        total = sum(map(len, self._histories.values()))
        while total > MOST_MESSAGES:
            channel_id, history = next(iter(self._histories.items()))
            total -= len(history)
            self.forget(channel_id)
