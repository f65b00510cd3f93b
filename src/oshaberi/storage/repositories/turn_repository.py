"""The newest turns of each channel, for `/continue`, `/regenerate`, delete and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete, func, or_, select, update

from oshaberi.storage.schema.table_rows import TurnMessageRow, TurnRow
from oshaberi.storage.stored_records import TAKEN_BACK, TurnRecord
from oshaberi.storage.transactions import Transactions, beyond_newest

KEPT_PER_CHANNEL = 50
KEPT_DAYS = 180


class TurnRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def remember(self, turn: TurnRecord) -> None:
        """The newest turn that a message belongs to is the one that counts."""
        now = self._store.now()
        row = _row(turn, self._store)
        async with self._store.write() as session:
            session.add(row)
            await session.flush()
            for message_id in turn.message_ids:
                link = self._store.insert(TurnMessageRow)
                link = link.values(message_id=message_id, turn_id=row.id)
                link = link.on_conflict_do_update(
                    index_elements=["message_id"], set_={"turn_id": link.excluded.turn_id}
                )
                await session.execute(link)
            await session.execute(
                beyond_newest(TurnRow.id, TurnRow.channel_id, turn.channel_id, KEPT_PER_CHANNEL)
            )
            await session.execute(delete(TurnRow).where(TurnRow.at < now - timedelta(KEPT_DAYS)))

    async def of_message(self, message_id: int) -> TurnRecord | None:
        """The turn that wrote this message."""
        found = select(TurnRow).join(TurnMessageRow, TurnMessageRow.turn_id == TurnRow.id)
        async with self._store.read() as session:
            row = await session.scalar(found.where(TurnMessageRow.message_id == message_id))
            return None if row is None else _record(row)

    async def about(self, channel_id: int, message_ids: Sequence[int]) -> tuple[TurnRecord, ...]:
        """The turns of a channel that answered one of these messages, or wrote one."""
        wrote = select(TurnMessageRow.turn_id).where(TurnMessageRow.message_id.in_(message_ids))
        here = select(TurnRow).where(TurnRow.channel_id == channel_id)
        found = here.where(or_(TurnRow.asked_id.in_(message_ids), TurnRow.id.in_(wrote)))
        async with self._store.read() as session:
            return tuple(map(_record, await session.scalars(found)))

    async def whole(self, turn: TurnRecord) -> tuple[TurnRecord, ...]:
        """All turns of the answer that this one is part of, oldest first."""
        first = turn.first_id
        here = select(TurnRow).where(TurnRow.channel_id == turn.channel_id)
        parts = here.where(or_(TurnRow.id == first, TurnRow.answer_id == first))
        async with self._store.read() as session:
            return tuple(map(_record, await session.scalars(parts.order_by(TurnRow.id))))

    async def take_back(self, turn: TurnRecord) -> None:
        """What it was an answer to is still known, but nothing of it is left."""
        values = {"message_ids": [], "undelivered": "", "status": TAKEN_BACK}
        async with self._store.write() as session:
            await session.execute(update(TurnRow).where(TurnRow.id == turn.id).values(**values))

    async def direct_channels(self, most: int) -> tuple[int, ...]:
        """Of direct messages those with the newest turns, newest first."""
        found = (
            select(TurnRow.channel_id).where(TurnRow.server_id == 0).group_by(TurnRow.channel_id)
        )
        async with self._store.read() as session:
            newest = found.order_by(func.max(TurnRow.id).desc()).limit(most)
            return tuple(await session.scalars(newest))

    async def last(self, channel_id: int) -> TurnRecord | None:
        return next(iter(await self.newest(channel_id, 1)), None)

    async def newest(self, channel_id: int, count: int) -> tuple[TurnRecord, ...]:
        """The newest first."""
        here = select(TurnRow).where(TurnRow.channel_id == channel_id)
        async with self._store.read() as session:
            rows = await session.scalars(here.order_by(TurnRow.id.desc()).limit(count))
            return tuple(map(_record, rows))


def _row(turn: TurnRecord, store: Transactions) -> TurnRow:
    return TurnRow(
        channel_id=turn.channel_id,
        server_id=turn.server_id,
        user_id=turn.user_id,
        asked_id=turn.asked_id,
        persona=turn.persona,
        message_ids=list(turn.message_ids),
        status=turn.status,
        undelivered=turn.undelivered,
        why=turn.why,
        at=turn.at or store.now(),
        answer_id=turn.answer_id,
    )


def _record(row: TurnRow) -> TurnRecord:
    return TurnRecord(
        channel_id=row.channel_id,
        server_id=row.server_id,
        user_id=row.user_id,
        asked_id=row.asked_id,
        persona=row.persona,
        message_ids=tuple(row.message_ids),
        status=row.status,
        undelivered=row.undelivered,
        why=row.why,
        at=row.at,
        answer_id=row.answer_id,
        id=row.id,
    )
