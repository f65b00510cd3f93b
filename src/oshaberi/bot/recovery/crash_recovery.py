"""After a crash, finds or sends the messages of an earlier process, and reports the others.

A message in the journal may or may not have been sent. Recovery looks for it in the channel, and
sends it with its old nonce only if it is not there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from oshaberi.bot.client.message_reader import NOT_FOUND
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.transcript import is_working_line
from oshaberi.bot.recovery.unsent_post_recovery import find_or_send, notify_once
from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import (
    JournalledPost,
    JournalledStream,
    StoredQuestion,
    TurnRecord,
)
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.bot.turns.admission.rules import OCCASIONS, reason_word
from oshaberi.bot.turns.services.turn_services import Alone, nobody_else
from oshaberi.delivery.journal import LINES, post_of_body
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import (
    Embed,
    Post,
    Sent,
    SinkError,
)
from oshaberi.discord_io import DiscordSink
from oshaberi.languages import in_language, translatable, translated
from oshaberi.languages.current_language import reader_language
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)

AT_ONCE = 8
EARLIER_TURNS = 10
"""How many turns are read, so that their messages are not mistaken for those of the interrupted
turn."""
MOST_SEEN = 100
"""How many messages are searched for lines beside an interrupted answer."""
INTERRUPTED = "interrupted"
TITLE = translatable("I was interrupted")
GO_ON = translatable(
    "I was restarted in the middle of this answer. `/continue` goes on, `/regenerate` starts again."
)
IN_DOUBT = translatable("One message of it may be missing: I could not check whether it arrived.")

T = TypeVar("T")
FindTurnChannel = Callable[[int], Awaitable[DiscordTurnChannel | None]]
OccasionSources = Mapping[
    str, Callable[[StoredQuestion, DiscordTurnChannel], Awaitable[Occasion | None]]
]
"""By the first word of a question's reason: a function that returns its occasion, None if it is
over."""
LanguageOf = Callable[[ChannelPath, str], Awaitable[str]]
"""Returns the language of notices in a channel, from its path and the server's locale."""


@dataclass(slots=True)
class _Settled:
    """The messages of one stream that were found or sent. `in_doubt`: some could not be checked."""

    message_ids: list[int]
    in_doubt: bool = False


async def servers_language(_path: ChannelPath, locale: str) -> str:
    """Return the language that is set for the server in Discord."""
    return reader_language(locale)


class CrashRecovery:
    """Finishes the streams of this `instance` that are no longer running in any process."""

    def __init__(
        self,
        db: Database,
        instance: str,
        find_turn_channel: FindTurnChannel,
        alone: Alone = nobody_else,
        language_of: LanguageOf = servers_language,
        occasions: OccasionSources = MappingProxyType({}),
    ) -> None:
        self._db = db
        self._occasions = occasions
        self._instance = instance
        self._find_turn_channel = find_turn_channel
        self._alone = alone
        self._language_of = language_of
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self, keys: Collection[str] | None = None) -> int:
        """Finish these streams, or all of them, and return their number.

        A channel that cannot be reached does not delay the others. Raises StorageAwayError if some
        streams are left.
        """
        channels = {stream.channel_id for stream in await self._left_streams(keys)}
        return sum(await all_of(self._channel(one, keys) for one in channels))

    async def _left_streams(self, keys: Collection[str] | None) -> list[JournalledStream]:
        left = await self._db.journal.unfinished(self._instance)
        return [stream for stream in left if keys is None or stream.key in keys]

    async def _channel(self, channel_id: int, keys: Collection[str] | None) -> int:
        """Finish the streams of one channel, while no turn is running there."""
        async with self._free, self._alone(f"turn:{channel_id}"):
            left = await self._left_streams(keys)
            streams = [stream for stream in left if stream.channel_id == channel_id]
            for stream in streams:
                try:
                    await self._take_up(stream)
                except StorageAwayError:
                    raise
                except (*NOT_FOUND, SinkError, StorageError) as error:
                    # It stays in the journal: the next start tries again.
                    log.error("channel %s: not settled: %s", channel_id, error)
            return len(streams)

    async def _take_up(self, stream: JournalledStream) -> None:
        turn_channel = await self._find_turn_channel(stream.channel_id)
        turns = await self._db.turns.newest(stream.channel_id, EARLIER_TURNS)
        if turn_channel is not None:
            await _remove_lines(stream, turn_channel, turns)
        posts = tuple(one for one in stream.posts if not one.nonce.endswith(LINES))
        stream = replace(stream, posts=posts)
        if turn_channel is None:
            log.warning("channel %s is gone, and an answer with it", stream.channel_id)
            await self._settle_question(stream, turns)
        elif (recorded := _record_of(stream, turns)) is None:
            if await self._may_be_answered(stream, turns):
                await self._leave_unanswered(stream)
                await self._db.journal.finish(stream.key)
                return
            await self._settle_and_tell(stream, turn_channel, turns)
            await self._settle_question(stream, turns)
        elif recorded.status == INTERRUPTED:
            await self._complete(stream, recorded, turn_channel, turns)
        await self._db.journal.finish(stream.key)

    async def _may_be_answered(self, stream: JournalledStream, turns: Sequence[TurnRecord]) -> bool:
        """Return whether nobody saw anything of the answer, and its question is still open.

        It is tried only once more: the question itself may have crashed the process.
        """
        if stream.posts or any(_was_cut_unseen(turn, stream.answering_id) for turn in turns):
            return False
        return await self._question(stream) is not None

    async def _question(self, stream: JournalledStream) -> StoredQuestion | None:
        """Return the open question of a stream; None if it is settled, or there was none."""
        if stream.answering_id is None:
            return None
        return await self._db.questions.get(stream.channel_id, stream.answering_id)

    async def _leave_unanswered(self, stream: JournalledStream) -> None:
        """Store that an answer was attempted. Its question stays open (`QuestionRecovery`)."""
        await self._db.turns.remember(
            TurnRecord(
                channel_id=stream.channel_id,
                server_id=stream.server_id,
                user_id=stream.user_id,
                asked_id=stream.answering_id,
                persona=stream.persona,
                status=INTERRUPTED,
            )
        )
        log.info("channel %s: an answer without a message is given anew", stream.channel_id)

    async def _settle_question(self, stream: JournalledStream, turns: Sequence[TurnRecord]) -> None:
        """Settle the question of a stream, so that no process answers it again (decision 5)."""
        earlier = _continued_turn(stream, turns)
        asked_id = stream.answering_id or (earlier and earlier.asked_id)
        if asked_id:
            await self._db.questions.settle(stream.channel_id, (asked_id,))

    async def _settle_and_tell(
        self,
        stream: JournalledStream,
        turn_channel: DiscordTurnChannel,
        turns: Sequence[TurnRecord],
    ) -> None:
        question = await self._question(stream)
        is_occasion = question is not None and reason_word(question.why) in OCCASIONS
        if is_occasion:
            turn_channel = turn_channel.notifying(frozenset({stream.user_id}))
        sink = await _sink_of(stream, turn_channel, turns)
        settled = await self._settle_posts(stream, sink)
        if not (question and await is_written(self._occasions, question, turn_channel)):
            with in_language(await self._language_of(turn_channel.path, turn_channel.locale)):
                await self._tell(stream, sink, settled)
        earlier = _continued_turn(stream, turns)
        await self._db.turns.remember(
            TurnRecord(
                channel_id=stream.channel_id,
                server_id=stream.server_id,
                user_id=stream.user_id,
                asked_id=stream.answering_id if earlier is None else earlier.asked_id,
                persona=stream.persona,
                message_ids=tuple(settled.message_ids),
                status=INTERRUPTED,
                answer_id=None if earlier is None else earlier.first_id,
            )
        )
        if stream.answering_id is not None:
            # The user was told: mark it as handled, so that it is not answered again.
            await self._db.seen.note(stream.channel_id, stream.answering_id)
        log.info(
            "channel %s: an interrupted answer has %s",
            stream.channel_id,
            counted(len(settled.message_ids), "message"),
        )

    async def _complete(
        self,
        stream: JournalledStream,
        recorded: TurnRecord,
        turn_channel: DiscordTurnChannel,
        turns: Sequence[TurnRecord],
    ) -> None:
        """Complete the record of an answer that a shutdown cut off and that will be continued.

        Its last message may have been on its way to Discord. The user gets no notice.
        """
        if all(post.state != "intended" for post in stream.posts):
            return
        settled = await self._settle_posts(stream, await _sink_of(stream, turn_channel, turns))
        message_ids = tuple(sorted({*recorded.message_ids, *settled.message_ids}))
        await self._db.turns.set_messages(replace(recorded, message_ids=message_ids))

    async def _settle_posts(self, stream: JournalledStream, sink: DiscordSink) -> _Settled:
        response = ResponseState(key=stream.key)
        settled = _Settled([])
        for post in stream.posts:
            sink.recall(post.nonce, post.newest_id, post.message_id)
            if post.message_id is not None:
                response.messages.append(Sent(post.message_id))
        for post in sorted(stream.posts, key=lambda one: one.number):
            message_id = post.message_id
            if post.state == "intended":
                message_id = await self._settle(stream, post, sink, response, settled)
            if message_id is not None:
                settled.message_ids.append(message_id)
        return settled

    async def _settle(
        self,
        stream: JournalledStream,
        written: JournalledPost,
        sink: DiscordSink,
        response: ResponseState,
        settled: _Settled,
    ) -> int | None:
        sent = await find_or_send(post_of_body(written.body), sink, response)
        if sent is None:
            settled.in_doubt = True
            await self._db.journal.mark_refused(stream.key, written.nonce)
            return None
        response.messages.append(sent)
        await self._db.journal.mark_sent(stream.key, written.nonce, sent.id)
        return sent.id

    async def _tell(self, stream: JournalledStream, sink: DiscordSink, settled: _Settled) -> None:
        lines = (GO_ON, IN_DOUBT) if settled.in_doubt else (GO_ON,)
        text = "\n".join(translated(line) for line in lines)
        notice = Post(f"{stream.key}-end", embed=Embed(translated(TITLE), text))
        newest = max((one.newest_id for one in stream.posts), default=stream.answering_id or 0)
        sent = await notify_once(notice, sink, newest)
        if sent is None or sent.id is None:
            log.warning(
                "channel %s: the notice about an interrupted answer could not be sent",
                stream.channel_id,
            )
        else:
            settled.message_ids.append(sent.id)


async def _remove_lines(
    stream: JournalledStream, turn_channel: DiscordTurnChannel, turns: Sequence[TurnRecord]
) -> None:
    """Delete the lines beside the answer that the earlier process had no time to delete."""
    since = min((one.newest_id for one in stream.posts if one.nonce.endswith(LINES)), default=None)
    if since is None:
        return
    kept = {message_id for turn in turns for message_id in turn.message_ids}
    kept |= {one.message_id for one in stream.posts if one.message_id is not None}
    seen = await turn_channel.channel_info(None, MOST_SEEN)
    left = [
        one.id
        for one in seen.history
        if one.id > since and one.id not in kept and one.by_us and is_working_line(one.text)
    ]
    await turn_channel.delete(left)


async def is_written(
    occasions: OccasionSources, question: StoredQuestion, turn_channel: DiscordTurnChannel
) -> bool:
    """Return whether a question is an occasion at which a text is posted as it is.

    It is one message, so nothing of it can be missing.
    """
    source = occasions.get(reason_word(question.why))
    occasion = None if source is None else await source(question, turn_channel)
    return occasion is not None and bool(occasion.text)


async def all_of(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results. If one fails, wait for the others, then raise the first failure."""
    tasks = [asyncio.ensure_future(work) for work in works]
    await asyncio.gather(*tasks, return_exceptions=True)
    return [task.result() for task in tasks]


async def _sink_of(
    stream: JournalledStream, turn_channel: DiscordTurnChannel, turns: Sequence[TurnRecord]
) -> DiscordSink:
    """Return a sink that does not mistake messages of other turns for those of the stream."""
    asked_id = stream.answering_id
    asked = None if asked_id is None else await turn_channel.incoming(asked_id)
    sink = turn_channel.sink(asked)
    for turn in turns:
        sink.leave_out(turn.message_ids)
    return sink


def _record_of(stream: JournalledStream, turns: Sequence[TurnRecord]) -> TurnRecord | None:
    return next((turn for turn in turns if _was_recorded(stream, turn)), None)


def _was_cut_unseen(turn: TurnRecord, asked_id: int | None) -> bool:
    return was_unseen(turn) and turn.asked_id == asked_id


def was_unseen(turn: TurnRecord) -> bool:
    """Return whether a turn was interrupted before its first message, and so answered nothing."""
    return turn.status == INTERRUPTED and not turn.message_ids


def _continued_turn(stream: JournalledStream, turns: Sequence[TurnRecord]) -> TurnRecord | None:
    """Return the last turn if the stream continued it, else None.

    A stream without a question continues the last answer of the same persona. A persona that
    another persona called does not continue anything.
    """
    last = turns[0] if turns else None
    if last is None or stream.answering_id is not None or last.persona != stream.persona:
        return None
    return last


def _was_recorded(stream: JournalledStream, turn: TurnRecord) -> bool:
    """Return whether the turn was stored: then only the journal entry must be deleted."""
    if turn.at is None or stream.began is None or turn.at < stream.began:
        return False
    return turn.persona == stream.persona and stream.answering_id in (None, turn.asked_id)
