"""Reminders and tasks, and the time zones of users.

A due schedule is claimed by one process only: it changes `next_at` from the time that it read, and
stores an open question in the same transaction. From then on it is like any question: the next
process finds it if this one ends before it is done.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Text, cast, delete, exists, func, literal, or_, select, update

from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import ScheduleRecord, ShardShare, StoredQuestion
from oshaberi.bot.storage.repositories.journal import QuestionRepository
from oshaberi.bot.storage.schema.table_rows import QuestionRow, ScheduleRow, TimeZoneRow
from oshaberi.bot.storage.transactions import Transactions, count, in_passing

MOST_LISTED = 500
_WHY = "schedule "
"""The reason of a schedule's question, before the number (`bot.schedules.schedule_rules`)."""
EVERY_SERVER = ShardShare()
_IS_OPEN = or_(ScheduleRow.next_at.is_not(None), ScheduleRow.is_paused)


class ScheduleRepository:
    """The schedules. `news` is set when this process changes one."""

    def __init__(self, store: Transactions, questions: QuestionRepository) -> None:
        self._store = store
        self._questions = questions
        self.news = asyncio.Event()

    @writes
    async def add(
        self, record: ScheduleRecord, per_user: int, per_server: int
    ) -> ScheduleRecord | Literal["user", "server"]:
        """Store a schedule. Return it with its number, or say whose limit is reached.

        A user may have `per_user` schedules in a server, the server `per_server` in all.
        """
        here = ScheduleRow.server_id == record.server_id, _IS_OPEN
        everyone = select(func.count()).select_from(ScheduleRow).where(*here)
        async with self._store.write() as session:
            await self._store.alone(session, f"schedules {record.server_id}")
            theirs = await session.scalar(everyone.where(ScheduleRow.user_id == record.user_id))
            if (theirs or 0) >= per_user:
                return "user"
            if record.server_id and (await session.scalar(everyone) or 0) >= per_server:
                return "server"
            row = _row(record, self._store.now())
            session.add(row)
            await session.flush()
            stored = _record(row)
        self.news.set()
        return stored

    @reads
    async def get(self, schedule_id: int) -> ScheduleRecord | None:
        async with self._store.read() as session:
            row = await session.get(ScheduleRow, schedule_id)
            return None if row is None else _record(row)

    @reads
    async def of_user(self, user_id: int) -> tuple[ScheduleRecord, ...]:
        """Return a user's schedules in all places, the next one first."""
        return await self._listed(ScheduleRow.user_id == user_id)

    @reads
    async def of_server(self, server_id: int) -> tuple[ScheduleRecord, ...]:
        """Return a server's schedules, the next one first."""
        return await self._listed(ScheduleRow.server_id == server_id)

    async def _listed(self, whose: ColumnElement[bool]) -> tuple[ScheduleRecord, ...]:
        rows = select(ScheduleRow).where(whose, _IS_OPEN)
        rows = rows.order_by(ScheduleRow.next_at, ScheduleRow.id).limit(MOST_LISTED)
        async with self._store.read() as session:
            return tuple(map(_record, await session.scalars(rows)))

    @writes
    async def delete(self, schedule_id: int) -> bool:
        """Delete a schedule, and the open question of a time that is due."""
        async with self._store.write() as session:
            due = delete(QuestionRow).where(QuestionRow.why == f"{_WHY}{schedule_id}")
            await session.execute(due)
            return bool(
                await count(session, delete(ScheduleRow).where(ScheduleRow.id == schedule_id))
            )

    @writes
    async def change(
        self, schedule_id: int, *, is_paused: bool, next_at: datetime | None, problem: str = ""
    ) -> bool:
        """Pause or resume a schedule. Return whether it is there."""
        changed = update(ScheduleRow).where(ScheduleRow.id == schedule_id)
        changed = changed.values(is_paused=is_paused, next_at=next_at, problem=problem)
        async with self._store.write() as session:
            done = bool(await count(session, changed))
        self.news.set()
        return done

    @writes
    async def pause_in(self, channel_id: int, problem: str) -> int:
        """Pause all schedules of a channel, for example because it is deleted."""
        there = ScheduleRow.channel_id == channel_id, ScheduleRow.next_at.is_not(None)
        paused = update(ScheduleRow).where(*there).values(is_paused=True, problem=problem)
        async with self._store.write() as session:
            return await count(session, paused)

    @reads
    async def due(
        self, now: datetime, most: int, share: ShardShare = EVERY_SERVER
    ) -> tuple[ScheduleRecord, ...]:
        """Return schedules of these shards whose time has come, the oldest first."""
        rows = select(ScheduleRow).where(ScheduleRow.next_at <= now, *_waiting_in(share))
        async with self._store.read() as session:
            found = await session.scalars(rows.order_by(ScheduleRow.next_at).limit(most))
            return tuple(map(_record, found))

    @reads
    async def next_due(self, share: ShardShare = EVERY_SERVER) -> datetime | None:
        """Return when the next schedule of these shards is due."""
        first = select(func.min(ScheduleRow.next_at)).where(*_waiting_in(share))
        async with self._store.read() as session:
            return await session.scalar(first)

    @writes
    async def take(
        self, record: ScheduleRecord, following: datetime | None, question: StoredQuestion | None
    ) -> bool:
        """Claim a due time, unless another process has. The schedule is due again at `following`.

        `question` is stored with it; None skips this time.
        """
        mine = update(ScheduleRow).where(
            ScheduleRow.id == record.id,
            ScheduleRow.next_at == record.next_at,
            ~ScheduleRow.is_paused,
        )
        async with self._store.write() as session:
            if not await count(session, mine.values(next_at=following)):
                return False
            if question is not None:
                step = self._questions.keeping(question).steps[0]
                await session.execute(step.statement, step.values)
            return True

    @writes
    async def forget_ended(self) -> int:
        """Delete schedules without a further time, unless the last one is still running."""
        why = literal(_WHY) + cast(ScheduleRow.id, Text)
        is_open = exists().where(QuestionRow.why == why)
        ended = delete(ScheduleRow).where(~_IS_OPEN, ~is_open)
        async with self._store.write() as session:
            return await count(session, in_passing(ended))


def _waiting_in(share: ShardShare) -> tuple[ColumnElement[bool], ...]:
    if share.shard_count == 1:
        return (~ScheduleRow.is_paused,)
    shard = ScheduleRow.server_id.op(">>")(22) % share.shard_count
    return ~ScheduleRow.is_paused, shard.in_(sorted(share.shard_ids))


def _row(record: ScheduleRecord, now: datetime) -> ScheduleRow:
    return ScheduleRow(
        server_id=record.server_id,
        channel_id=record.channel_id,
        user_id=record.user_id,
        persona=record.persona,
        kind=record.kind,
        text=record.text,
        rule=None if record.rule is None else dict(record.rule),
        zone=record.zone,
        next_at=record.next_at,
        is_paused=record.is_paused,
        problem=record.problem,
        at=record.at or now,
    )


def _record(row: ScheduleRow) -> ScheduleRecord:
    return ScheduleRecord(
        server_id=row.server_id,
        channel_id=row.channel_id,
        user_id=row.user_id,
        kind=row.kind,
        text=row.text,
        next_at=row.next_at,
        persona=row.persona,
        rule=row.rule,
        zone=row.zone,
        is_paused=row.is_paused,
        problem=row.problem,
        at=row.at,
        id=row.id,
    )


class TimeZoneRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def of(self, user_id: int) -> str | None:
        """Return the name of a user's time zone, or None if they have told none."""
        async with self._store.read() as session:
            row = await session.get(TimeZoneRow, user_id)
            return None if row is None else row.name

    @writes
    async def store(self, user_id: int, name: str) -> None:
        row = self._store.insert(TimeZoneRow).values(user_id=user_id, name=name)
        row = row.on_conflict_do_update(index_elements=["user_id"], set_={"name": name})
        async with self._store.write() as session:
            await session.execute(row)

    @writes
    async def forget(self, user_id: int) -> bool:
        async with self._store.write() as session:
            theirs = delete(TimeZoneRow).where(TimeZoneRow.user_id == user_id)
            return bool(await count(session, theirs))
