"""After a crash: what an earlier process was about to say is found or said, and the rest is told.

A message that was written into the journal may or may not have left. The channel itself knows: it
is looked for there, and sent under its old nonce only if it is not there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from oshaberi.bot.client.discord_turn_channel import DiscordTurnChannel
from oshaberi.bot.client.incoming_messages import NOT_FOUND
from oshaberi.delivery.bookkeeping.send_journal import post_of_body
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.exactly_once import RETRY_SECONDS, ExactlyOnceSender
from oshaberi.delivery.posting.send_outcome import Delivered, Failed, NoWebhook
from oshaberi.delivery.posting.webhook_identity import bold_name, introduced
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import (
    AmbiguousError,
    ArrivalUnknownError,
    DiscordRefusalError,
    Embed,
    Post,
    Sent,
    SinkError,
    WebhookFace,
)
from oshaberi.discord_io import DiscordSink
from oshaberi.storage import Database, StorageError
from oshaberi.storage.stored_records import JournalledPost, JournalledStream, TurnRecord
from oshaberi.text.text_measure import utf16_len
from oshaberi.turns.turn_services import Alone, nobody_else

log = logging.getLogger(__name__)

AT_ONCE = 8
LONGEST_MESSAGE = 2000
EARLIER_TURNS = 10
"""Whose messages are not taken for those of the interrupted one."""
INTERRUPTED = "interrupted"
TITLE = "I was interrupted"
GO_ON = (
    "I was restarted in the middle of this answer. `/continue` goes on, `/regenerate` starts again."
)
IN_DOUBT = "One message of it may be missing: I could not check whether it arrived."

FindRoom = Callable[[int], Awaitable[DiscordTurnChannel | None]]


@dataclass(slots=True)
class _Settled:
    """What became of the messages of one stream."""

    message_ids: list[int]
    in_doubt: bool = False


class CrashRecovery:
    """Takes up the streams of this `instance` that no process runs any more."""

    def __init__(
        self, db: Database, instance: str, find_turn_channel: FindRoom, alone: Alone = nobody_else
    ) -> None:
        self._db = db
        self._instance = instance
        self._find_room = find_turn_channel
        self._alone = alone
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self, keys: Collection[str] | None = None) -> int:
        """How many there were: of these streams, or of all.

        A channel that cannot be reached holds up no other.
        """
        channels = {stream.channel_id for stream in await self._left(keys)}
        return sum(await asyncio.gather(*(self._channel(one, keys) for one in channels)))

    async def _left(self, keys: Collection[str] | None) -> list[JournalledStream]:
        left = await self._db.journal.unfinished(self._instance)
        return [stream for stream in left if keys is None or stream.key in keys]

    async def _channel(self, channel_id: int, keys: Collection[str] | None) -> int:
        """A turn that runs there, be it of another process with our name, is none that was left."""
        async with self._free, self._alone(f"turn:{channel_id}"):
            left = await self._left(keys)
            streams = [stream for stream in left if stream.channel_id == channel_id]
            for stream in streams:
                try:
                    await self._take_up(stream)
                except (*NOT_FOUND, SinkError, StorageError) as error:
                    # It stays in the journal: the next start tries again.
                    log.error("channel %s: not settled: %s", channel_id, error)
            return len(streams)

    async def _take_up(self, stream: JournalledStream) -> None:
        turn_channel = await self._find_room(stream.channel_id)
        turns = await self._db.turns.newest(stream.channel_id, EARLIER_TURNS)
        if turn_channel is None:
            log.warning("channel %s is gone, and an answer with it", stream.channel_id)
        elif not any(_was_recorded(stream, turn) for turn in turns):
            await self._settle_and_tell(stream, turn_channel, turns)
        await self._db.journal.finish(stream.key)

    async def _settle_and_tell(
        self,
        stream: JournalledStream,
        turn_channel: DiscordTurnChannel,
        turns: Sequence[TurnRecord],
    ) -> None:
        asked = (
            None
            if stream.answering_id is None
            else await turn_channel.incoming(stream.answering_id)
        )
        sink = turn_channel.sink(asked)
        for turn in turns:
            sink.leave_out(turn.message_ids)
        settled = await self._settle_posts(stream, sink)
        await self._tell(stream, sink, settled)
        earlier = _continued(stream, turns)
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
            # Told is dealt with: nobody shall find it unanswered and begin anew.
            await self._db.seen.note(stream.channel_id, stream.answering_id)
        log.info(
            "channel %s: an interrupted answer has %d messages",
            stream.channel_id,
            len(settled.message_ids),
        )

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
        sent = await _found_or_sent(post_of_body(written.body), sink, response)
        if sent is None:
            settled.in_doubt = True
            await self._db.journal.refused(stream.key, written.nonce)
            return None
        response.messages.append(sent)
        await self._db.journal.sent(stream.key, written.nonce, sent.id)
        return sent.id

    async def _tell(self, stream: JournalledStream, sink: DiscordSink, settled: _Settled) -> None:
        text = f"{GO_ON}\n{IN_DOUBT}" if settled.in_doubt else GO_ON
        notice = Post(f"{stream.key}-end", embed=Embed(TITLE, text))
        newest = max((one.newest_id for one in stream.posts), default=stream.answering_id or 0)
        sink.recall(notice.nonce, newest)
        # Told twice, should nobody be able to look, is better than not at all.
        sent = await _found_or_sent(notice, sink, ResponseState(key=stream.key), in_any_case=True)
        if sent is None or sent.id is None:
            log.warning("channel %s: an interrupted answer could not be told", stream.channel_id)
        else:
            settled.message_ids.append(sent.id)


def _continued(stream: JournalledStream, turns: Sequence[TurnRecord]) -> TurnRecord | None:
    """Who answers no message goes on with its own last answer; a persona that another called
    speaks after that other one."""
    last = turns[0] if turns else None
    if last is None or stream.answering_id is not None or last.persona != stream.persona:
        return None
    return last


def _was_recorded(stream: JournalledStream, turn: TurnRecord) -> bool:
    """Then it had ended or was told already, and only its place in the journal was left."""
    if turn.at is None or stream.began is None or turn.at < stream.began:
        return False
    return turn.persona == stream.persona and stream.answering_id in (None, turn.asked_id)


async def _looked_for(post: Post, sink: DiscordSink) -> Sequence[Sent]:
    for pause_s in RETRY_SECONDS:
        try:
            return await _look_for(post, sink)
        except (AmbiguousError, OSError) as error:
            log.info("looking again for a message of an earlier process: %s", error)
            await asyncio.sleep(pause_s)
    return await _look_for(post, sink)


async def _look_for(post: Post, sink: DiscordSink) -> Sequence[Sent]:
    if post.face is not None:
        await sink.open_webhook()
    return await sink.find_arrivals(post, asyncio.get_running_loop().time())


def _as_bot(post: Post, face: WebhookFace) -> Post:
    """Without its webhook, with the name in front as far as it fits."""
    named = introduced(face, post.content) if post.content else bold_name(face)
    content = named if utf16_len(named) <= LONGEST_MESSAGE else post.content
    return replace(post, face=None, content=content)


async def _found_or_sent(
    post: Post, sink: DiscordSink, response: ResponseState, *, in_any_case: bool = False
) -> Sent | None:
    """The message in the channel, now if not before. None if nobody can say."""
    found: Sequence[Sent] = ()
    try:
        found = await _looked_for(post, sink)
    except (ArrivalUnknownError, DiscordRefusalError) as error:
        log.warning("cannot look for a message of an earlier process: %s", error)
        if not in_any_case:
            return None
    if found:
        return found[0]
    sender = ExactlyOnceSender(sink, InterruptibleWaits(), response)
    outcome = await sender.deliver(post)
    if isinstance(outcome, NoWebhook) and post.face is not None:
        outcome = await sender.deliver(_as_bot(post, post.face))
    if isinstance(outcome, Failed):
        raise AmbiguousError(str(outcome.error))
    return outcome.sent if isinstance(outcome, Delivered) else None
