"""Questions without an answer: finds them after a restart or a lost session, and logs them."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.message_reader import NOT_FOUND, MessageReader
from oshaberi.bot.conversation.messages import IncomingMessage
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.turns.admission.rules import WHY
from oshaberi.clocks import loop_time_s, utc_now
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.discord_io.channels import may_read_history
from oshaberi.terminal_output import counted
from oshaberi.turn_tracing import TurnIds, of_turn

# Every unanswered question is counted. Those that the operator can act on are logged.


log = logging.getLogger(__name__)

WARNED = ("mute", "full")
"""Reasons that are logged: somebody asked the bot, and the operator or an admin can fix the
cause."""
AGAIN_SECONDS = 600.0
MOST_CHANNELS = 2000


class UnansweredLog:
    """Counts and logs messages that are not answered: `on_unanswered` gets each reason.

    The warning for a channel is repeated after ten minutes at the earliest.
    """

    def __init__(self) -> None:
        self.on_unanswered: Callable[[str], None] = lambda _reason: None
        self._warned_s: OrderedDict[tuple[int, str], float] = OrderedDict()

    def count(self, reason: str) -> None:
        """Count a message that was ignored for one of the reasons that are never logged."""
        self.on_unanswered(reason)

    def note(self, incoming: IncomingMessage, reason: str) -> None:
        self.on_unanswered(reason)
        if reason not in WARNED or not self._is_due(incoming.channel_id, reason):
            return
        with of_turn(TurnIds(incoming.server_id, incoming.channel_id, incoming.user_id)):
            log.warning("message %s is not answered: %s", incoming.said.id, WHY[reason])

    def _is_due(self, channel_id: int, reason: str) -> bool:
        now_s, key = loop_time_s(), (channel_id, reason)
        warned_s = self._warned_s.get(key)
        if warned_s is not None and now_s - warned_s < AGAIN_SECONDS:
            return False
        self._warned_s[key] = now_s
        self._warned_s.move_to_end(key)
        if len(self._warned_s) > MOST_CHANNELS:
            self._warned_s.popitem(last=False)
        return True


# Messages that the bot missed during a restart or a lost session.
#
# Discord does not say which direct messages were missed. So the search looks at the DM channels of
# people who have written to the bot before.


AT_ONCE = 8
"""How many channels are read at the same time. Every channel with something new is read in the
end."""
MOST_DIRECT = 100
"""How many DM channels are read. Each costs a request."""
MOST_MESSAGES = 500
"""How many of a channel's newest messages are read."""
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 5.0, 80.0
"""The pauses after which a channel is read again, if Discord failed to answer for it alone. Each is
twice as long as the one before."""

LastSeen = Callable[[int], Awaitable[int]]
IsForUs = Callable[[discord.Message], Awaitable[bool]]
OpenIds = Callable[[int], Awaitable[frozenset[int]]]
Listen = Callable[[discord.Message], Awaitable[None]]
DirectIds = Callable[[], Awaitable[Sequence[int]]]
ServerPlace = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
Place = ServerPlace | discord.DMChannel


class MissedMessages:
    """Finds missed messages.

    `last_seen` returns the newest handled message of a channel, 0 if there is none. `is_for_us`
    returns whether the bot would answer a message. `direct_ids` returns the DM channels to look at.
    The search ignores messages older than `max_age`. It also ignores the stored questions of a
    channel: the process that stored them, or one that takes them over, answers them. `shard_id`
    limits the search to the servers of one shard.
    """

    def __init__(
        self,
        reader: MessageReader,
        last_seen: LastSeen,
        is_for_us: IsForUs,
        listen: Listen,
        direct_ids: DirectIds,
        max_age: timedelta,
        open_questions: OpenIds,
        shard_id: int | None = None,
    ) -> None:
        self._reader = reader
        self._last_seen = last_seen
        self._is_for_us = is_for_us
        self._listen = listen
        self._direct_ids = direct_ids
        self._max_age = max_age
        self._open_questions = open_questions
        self._shard_id = shard_id
        self._free = asyncio.Semaphore(AT_ONCE)
        self.unread: list[Callable[[], Awaitable[int]]] = []
        """What must be read again, because Discord did not answer."""

    async def run(self) -> int:
        """Pass on all missed messages and return their number.

        Channels do not wait for each other.
        """
        now = utc_now()
        edge, newest = map(discord.utils.time_snowflake, (now - self._max_age, now))
        places = self._active(edge)
        served = [(place, _newest(place)) for place in places]
        # This may fail, so nothing starts before it.
        direct_ids = await self._direct_ids()
        return sum(
            await asyncio.gather(
                *(self._serve(place, edge, until) for place, until in served),
                *(self._serve_direct(number, edge, newest) for number in direct_ids),
            )
        )

    async def run_again(self) -> int:
        """Read the remaining channels. Pass on missed messages, and return their number."""
        steps, self.unread = self.unread, []
        return sum(await asyncio.gather(*map(self._once_more, steps)))

    async def _once_more(self, step: Callable[[], Awaitable[int]]) -> int:
        try:
            return await step()
        except StorageAwayError:
            self.unread.append(step)
            return 0

    def _active(self, edge: int) -> list[ServerPlace]:
        """Return channels with messages after `edge`, newest first. Others need no request."""
        guilds = [guild for guild in self._reader.client.guilds if self._is_looked_at(guild)]
        places = [place for guild in guilds for place in _places(guild) if _newest(place) > edge]
        readable = [place for place in places if may_read_history(place)]
        return sorted(readable, key=_newest, reverse=True)

    def _is_looked_at(self, guild: discord.Guild) -> bool:
        return self._shard_id is None or guild.shard_id == self._shard_id

    async def _serve_direct(self, channel_id: int, edge: int, until: int) -> int:
        try:
            async with self._free:
                place = await self._direct_since(channel_id, edge)
        except (*NOT_FOUND, discord.InvalidData) as error:
            log.debug("channel %s: missed messages cannot be looked for: %s", channel_id, error)
            if _passes(error):
                self.unread.append(partial(self._serve_direct, channel_id, edge, until))
            return 0
        return 0 if place is None else await self._serve(place, edge, until)

    async def _serve(self, place: Place, edge: int, until: int) -> int:
        """Pass on the missed messages of one channel, in the order in which they were written."""
        async with self._free:
            seen = await self._last_seen(place.id)
        if not isinstance(place, discord.DMChannel) and _newest(place) <= seen:
            return 0
        return await self._serve_since(place, max(seen, edge), until)

    async def _serve_since(
        self, place: Place, since: int, until: int, *, is_repeated: bool = False
    ) -> int:
        """Pass on what was written after `since`.

        If Discord does not answer, this is repeated later, with the same `since`. By then the bot
        has received newer messages, so the repetition ignores those after `until`: they were not
        missed.
        """
        async with self._free:
            try:
                messages = await _messages_since(place, since)
            except NOT_FOUND as error:
                log.warning("channel %s: missed messages cannot be read: %s", place.id, error)
                if _passes(error):
                    again = partial(self._serve_since, place, since, until, is_repeated=True)
                    self.unread.append(again)
                return 0
            if is_repeated:
                messages = [message for message in messages if message.id <= until]
            missed = await self._missed_among(place, messages)
            for message in missed:
                await self._listen(message)
        return len(missed)

    async def _direct_since(self, channel_id: int, edge: int) -> discord.DMChannel | None:
        """Return the DM channel, or None if nothing was written there after `edge`."""
        client = self._reader.client
        pages = client.get_partial_messageable(channel_id).history(limit=1)
        newest = [message.id async for message in pages]
        if max(newest, default=0) <= edge:
            return None
        channel = client.get_channel(channel_id) or await client.fetch_channel(channel_id)
        return channel if isinstance(channel, discord.DMChannel) else None

    async def _missed_among(
        self, channel: Place, messages: Sequence[discord.Message]
    ) -> list[discord.Message]:
        """Return the messages that address the bot and have no answer."""
        ours = [message for message in messages if self._reader.is_ours(message)]
        settled = {message.reference.message_id for message in ours if message.reference}
        if messages:
            settled |= await self._open_questions(channel.id)
        return [
            message
            for message in messages
            if message.id not in settled and await self._asks_us(message)
        ]

    async def _asks_us(self, message: discord.Message) -> bool:
        return self._reader.is_new_talk(message) and await self._is_for_us(message)


def _passes(error: Exception) -> bool:
    """Return whether the same request may succeed later, because Discord has not refused it."""
    if isinstance(error, discord.InvalidData):
        return False
    return not isinstance(error, discord.HTTPException) or error.status >= 500


async def _messages_since(channel: Place, edge: int) -> list[discord.Message]:
    """Return the messages after `edge`, oldest first. If there are too many, drop the oldest."""
    found: list[discord.Message] = []
    async for message in channel.history(limit=MOST_MESSAGES):
        if message.id <= edge:
            break
        found.append(message)
    return found[::-1]


def _places(guild: discord.Guild) -> list[ServerPlace]:
    spoken: list[ServerPlace] = [*guild.voice_channels, *guild.stage_channels]
    return [*guild.text_channels, *guild.threads, *spoken]


def _newest(place: ServerPlace) -> int:
    return place.last_message_id or 0


# The search, when the bot or one of its shards gets ready: first the stored questions, then those
# in the channels (`MissedMessages`).


DATABASE_RETRY_SECONDS = 5.0
"""How long after an outage of the database the search is repeated."""

WhenReady = Callable[[], Awaitable[object]]


class UnansweredSearch:
    """Searches for one client. `listen` gets each missed message.

    `when_ready` is awaited once, before the first search. `take_up` is awaited before every search:
    it resumes stored questions that have no answer.
    """

    def __init__(
        self,
        context: BotContext,
        reader: MessageReader,
        has_shard: Callable[[int], bool],
        listen: Listen,
        *,
        when_ready: WhenReady | None = None,
        take_up: WhenReady | None = None,
        outage: ServiceOutage | None = None,
    ) -> None:
        self._context = context
        self._reader = reader
        self._has_shard = has_shard
        self._listen = listen
        self._when_ready = when_ready
        self._take_up = take_up
        self._outage = outage
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run_when_ready(
        self, shard_id: int | None = None, on_outage: Callable[[], None] | None = None
    ) -> None:
        """Search on one shard, or on all. Repeats until database and Discord have answered."""
        with self._until_closed():
            while not await self._is_done(shard_id):
                if on_outage is not None:
                    on_outage()
                await asyncio.sleep(DATABASE_RETRY_SECONDS)

    async def run(self) -> None:
        """Search on all shards."""
        async with self._lock:
            await self._search()

    async def close(self) -> None:
        """Cancel running searches: they need the database, which is closed next."""
        under_way = self._tasks - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way)

    async def _is_done(self, shard_id: int | None) -> bool:
        """Search. Return False if it has to be repeated.

        The gateway may be back before the REST API, which knows what was written meanwhile.
        """
        if self._outage is None:
            return await self._has_searched(shard_id)
        await self._outage.resolved()
        outages = self._outage.count
        is_done = await self._has_searched(shard_id)
        await self._outage.resolved()
        return is_done and self._outage.count == outages

    async def _has_searched(self, shard_id: int | None) -> bool:
        try:
            async with self._lock:
                if self._when_ready is not None:
                    await self._when_ready()
                    self._when_ready = None
                if shard_id is None:
                    await self._search()
            if shard_id is not None:  # shards do not wait for each other
                await self._search(shard_id)
        except StorageAwayError as error:
            log.warning("open questions are looked for again soon: %s", error)
            return False
        return True

    @contextmanager
    def _until_closed(self) -> Iterator[None]:
        """Register the current task, so that `close` can cancel it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def _search(self, shard_id: int | None = None) -> None:
        if self._take_up is not None:
            await self._take_up()
        has_direct = shard_id in (None, 0) and self._has_shard(0)
        missed_messages = MissedMessages(
            self._reader,
            self._last_seen,
            self._is_for_us,
            self._listen,
            self._direct_ids if has_direct else _no_ids,
            timedelta(seconds=self._context.settings().max_question_age_s),
            self._context.db.questions.open_in,
            shard_id,
        )
        _log_missed(await missed_messages.run())
        if missed_messages.unread:
            again = asyncio.create_task(self._read_again(missed_messages))
            self._tasks.add(again)
            again.add_done_callback(self._tasks.discard)

    async def _read_again(self, missed_messages: MissedMessages) -> None:
        """Read the channels that Discord did not answer for. No other search waits for it."""
        end_s = loop_time_s() + self._context.settings().discord_outage_patience_s
        pause_s = FIRST_PAUSE_SECONDS
        while missed_messages.unread and loop_time_s() < end_s:
            await asyncio.sleep(min(pause_s, end_s - loop_time_s()))
            pause_s = min(2 * pause_s, LAST_PAUSE_SECONDS)
            if self._outage is not None:
                await self._outage.resolved()
            _log_missed(await missed_messages.run_again())
        if missed_messages.unread:
            channels = counted(len(missed_messages.unread), "channel")
            log.error("what was written in %s while the bot was away stays unread", channels)

    async def _last_seen(self, channel_id: int) -> int:
        """Return the newest message that was handled or whose turn has begun; 0 if none."""
        db = self._context.db
        seen, turn = await db.seen.last(channel_id), await db.turns.last(channel_id)
        return max(seen or 0, (turn.asked_id or 0) if turn else 0)

    async def _direct_ids(self) -> tuple[int, ...]:
        return await self._context.db.turns.direct_channels(MOST_DIRECT)

    async def _is_for_us(self, message: discord.Message) -> bool:
        incoming = await self._reader.incoming(message)
        return await self._context.channel_turns.admits(incoming)


def _log_missed(count: int) -> None:
    if count:
        log.info("%s came while the bot was not connected", counted(count, "message"))


async def _no_ids() -> tuple[int, ...]:
    return ()
