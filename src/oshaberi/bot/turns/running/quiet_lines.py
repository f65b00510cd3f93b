"""Messages beside an answer: what the bot is doing, and what it asks before it goes on.

They are not part of the answer, its record, its ledger or the history. When the turn ends they are
deleted, unless one is to stay. The journal notes that there may be some, so that after a crash the
next process deletes them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.turns.notices import NoticeSender
from oshaberi.clocks import loop_time_s
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Post, PostButton, Sent, Sink, SinkError, WireState
from oshaberi.stream.stops import ActiveChannel

log = logging.getLogger(__name__)

CLOSING_SECONDS = 5.0
"""How long the end of a turn waits for its lines to be deleted. Deletion goes on after that."""


class SeenMessages:
    """Whether somebody has spoken since the question.

    The bot's lines beside the answer do not count.
    """

    def __init__(self, turn_channel: TurnChannel, seen_id: int) -> None:
        self._turn_channel = turn_channel
        self._seen_id = seen_id
        self._has_more = False

    def has_more(self) -> bool:
        newest_id = self._turn_channel.newest_message_id
        return self._has_more or newest_id is None or newest_id > self._seen_id

    def leave_out(self, message_id: int) -> None:
        """Leave out a message of ours. Call `look` before it is sent."""
        self._seen_id = max(self._seen_id, message_id)

    def look(self) -> None:
        """Remember which messages have arrived so far."""
        newest_id = self._turn_channel.newest_message_id
        self._has_more = self._has_more or (newest_id or 0) > self._seen_id


class QuietLines:
    """The lines of one turn. `announce` is called before the first one is sent."""

    def __init__(
        self,
        turn_channel: TurnChannel,
        channel: ActiveChannel,
        seen: SeenMessages,
        announce: Callable[[], Awaitable[None]],
    ) -> None:
        self._turn_channel = turn_channel
        self._channel = channel
        self._seen = seen
        self._announce = announce
        self._sink: Sink | None = None
        self._work: set[asyncio.Task[Sent | None]] = set()
        self._there: list[Sent] = []
        self._is_announced = False
        self._is_closed = False

    @property
    def may_post(self) -> bool:
        """Return whether a line may still be sent or changed, which ends with a stop."""
        return not (self._is_closed or self._channel.is_ending)

    async def post(self, text: str, buttons: tuple[PostButton, ...] = ()) -> Sent | None:
        """Send a line. Return its message; None if it did not arrive or may not be sent any more.

        If the caller is cancelled, a request under way is completed, and its message is deleted.
        """
        return await asyncio.shield(self._start(self._send(text, buttons)))

    async def change(self, sent: Sent, text: str) -> None:
        """Replace the text of a line. A failure does not matter."""
        if not self.may_post or self._sink is None or sent not in self._there:
            return
        try:
            await self._sink.edit(sent, Post("", text), WireState(loop_time_s()))
        except SinkError as error:
            log.debug(
                "a line in channel %s was not changed: %s", self._turn_channel.channel_id, error
            )

    def remove(self, sent: Sent) -> None:
        """Delete a line, in the background."""
        if sent in self._there:
            self._there.remove(sent)
            self._start(self._delete(sent))

    def keep(self, sent: Sent) -> bool:
        """Let a line stay when the turn ends. Return whether it is there."""
        if sent not in self._there:
            return False
        self._there.remove(sent)
        return True

    async def close(self) -> None:
        """Delete the remaining lines. Nothing more is sent after that."""
        self._is_closed = True
        if not self._work and not self._there:
            return
        self._start(self._clear())
        _done, late = await asyncio.wait(set(self._work), timeout=CLOSING_SECONDS)
        if late:
            log.info("lines in channel %s are deleted later", self._turn_channel.channel_id)

    async def _clear(self) -> None:
        others = self._work - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)
        for sent in self._there:
            await self._delete(sent)
        self._there.clear()

    async def _send(self, text: str, buttons: tuple[PostButton, ...]) -> Sent | None:
        if not self._is_announced:
            self._is_announced = True
            await self._announce()
        if not self.may_post:
            return None
        if self._sink is None:
            self._sink = self._turn_channel.sink(None)
        self._seen.look()
        sender = NoticeSender(self._sink, ResponseState(), self._channel)
        sent = await sender.say_aside(text, buttons)
        if sent is None or sent.id is None:
            return None
        self._seen.leave_out(sent.id)
        self._there.append(sent)
        return sent

    async def _delete(self, sent: Sent) -> None:
        """Delete a line, with a second attempt in another way: nothing else would remove it."""
        sink, place = self._sink, self._turn_channel
        try:
            if sink is None:
                return
            await sink.delete(sent, WireState(loop_time_s()))
        except SinkError as error:
            log.debug("a line in channel %s was not deleted: %s", place.channel_id, error)
            try:
                await place.delete([sent.id] if sent.id else [])
            except Exception as worse:
                # The answer does not depend on it.
                log.warning("a line in channel %s stays: %s", place.channel_id, worse)

    def _start(self, work: Coroutine[Any, Any, Sent | None]) -> asyncio.Task[Sent | None]:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task
