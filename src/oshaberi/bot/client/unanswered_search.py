"""Looks for unanswered questions when the bot or one of its shards gets ready.

It takes the stored questions first, then those in the channels (`missed_messages`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.message_reader import MessageReader
from oshaberi.bot.client.missed_messages import MOST_DIRECT, MissedMessages
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.storage.storage_errors import StorageAwayError
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 5.0
"""How long after an outage of the database the search is repeated."""

WhenReady = Callable[[], Awaitable[object]]
Listen = Callable[[discord.Message], Awaitable[None]]


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
        """Search on one shard, or on all. Repeats until database and Discord answered."""
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
        count = await missed_messages.run()
        if count:
            log.info("%s came while the bot was not connected", counted(count, "message"))

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


async def _no_ids() -> tuple[int, ...]:
    return ()
