"""Where conversations begin: after a message (`/new`), or in a thread of their own."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import delete, func, select, update

from oshaberi.bot.storage.changes import ALL, StoredChange
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import OwnThread, TalkStart
from oshaberi.bot.storage.schema.table_rows import FreshStartRow, OwnThreadRow
from oshaberi.bot.storage.transactions import Transactions, count

_CHANGE = StoredChange("talks", ALL)


class TalkRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def begin_afresh(self, server_id: int, channel_id: int, after_id: int) -> None:
        """Store that messages up to this one are no longer read in a channel."""
        values = {"server_id": server_id, "after_id": after_id, "at": self._store.now()}
        row = self._store.insert(FreshStartRow).values(channel_id=channel_id, **values)
        row = row.on_conflict_do_update(
            index_elements=["channel_id"], set_=values, where=FreshStartRow.after_id < after_id
        )
        async with self._store.write(_CHANGE) as session:
            await session.execute(row)

    @reads
    async def start_of(self, channel_id: int) -> TalkStart:
        """Return where the conversation of a channel or thread begins."""
        thread = OwnThreadRow
        after = select(FreshStartRow.after_id).where(FreshStartRow.channel_id == channel_id)
        source = select(thread.source_id, thread.source_after_id, thread.source_last_id)
        async with self._store.read() as session:
            after_id = await session.scalar(after) or 0
            found = (await session.execute(source.where(thread.thread_id == channel_id))).first()
        return TalkStart(after_id) if found is None else TalkStart(after_id, *found)

    @writes
    async def open(self, one: OwnThread, start: TalkStart) -> None:
        """Store a thread that the bot has opened. It may be known already."""
        row = self._store.insert(OwnThreadRow).values(
            thread_id=one.thread_id,
            server_id=one.server_id,
            user_id=one.user_id,
            name=one.name,
            is_named=one.is_named,
            source_id=start.source_id,
            source_after_id=start.source_after_id,
            source_last_id=start.source_last_id,
            at=self._store.now(),
        )
        async with self._store.write(_CHANGE) as session:
            await session.execute(row.on_conflict_do_nothing())

    @reads
    async def opened_since(self, server_id: int, user_id: int, within: timedelta) -> int:
        """Return how many threads were opened for a user since a time."""
        theirs = select(func.count()).where(
            OwnThreadRow.server_id == server_id,
            OwnThreadRow.user_id == user_id,
            OwnThreadRow.at > self._store.now() - within,
        )
        async with self._store.read() as session:
            return await session.scalar(theirs) or 0

    @reads
    async def thread(self, thread_id: int) -> OwnThread | None:
        async with self._store.read() as session:
            row = await session.get(OwnThreadRow, thread_id)
            if row is None:
                return None
            return OwnThread(row.thread_id, row.server_id, row.user_id, row.name, row.is_named)

    @writes
    async def take_naming(self, thread_id: int) -> bool:
        """Note that a thread is being named. Only one of several processes gets True."""
        mine = update(OwnThreadRow).where(
            OwnThreadRow.thread_id == thread_id, OwnThreadRow.is_named.is_(False)
        )
        async with self._store.write() as session:
            return bool(await count(session, mine.values(is_named=True)))

    @reads
    async def branches_of(self, channel_id: int) -> tuple[int, ...]:
        """Return the threads whose conversation begins in this channel."""
        theirs = select(OwnThreadRow.thread_id).where(OwnThreadRow.source_id == channel_id)
        async with self._store.read() as session:
            return tuple(await session.scalars(theirs))

    @writes
    async def forget_channels(self, channel_ids: Collection[int]) -> None:
        """Delete what is known of deleted channels and threads."""
        gone = delete(OwnThreadRow).where(OwnThreadRow.thread_id.in_(channel_ids))
        starts = delete(FreshStartRow).where(FreshStartRow.channel_id.in_(channel_ids))
        async with self._store.write(_CHANGE) as session:
            await session.execute(gone)
            await session.execute(starts)
