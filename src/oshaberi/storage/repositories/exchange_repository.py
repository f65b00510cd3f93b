"""Short-term memory: the last exchanges of each channel, until they expire."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import delete, select

from oshaberi.storage.schema import table_rows
from oshaberi.storage.stored_records import Exchange
from oshaberi.storage.transactions import Transactions, beyond_newest, count

Row = table_rows.ExchangeRow


class ExchangeRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def add(self, exchange: Exchange, *, keep: int, days: int) -> None:
        """The channel keeps its newest `keep` exchanges, this one for `days` days."""
        if keep <= 0:
            await self.forget_channel(exchange.channel_id)
            return
        channel_id, now = exchange.channel_id, self._store.now()
        async with self._store.write() as session:
            session.add(_row(exchange, days, self._store))
            await session.flush()
            await session.execute(beyond_newest(Row.id, Row.channel_id, channel_id, keep))
            await session.execute(delete(Row).where(Row.expires_at <= now))

    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]:
        """Oldest first."""
        here = select(Row).where(Row.channel_id == channel_id, Row.expires_at > self._store.now())
        async with self._store.read() as session:
            newest = (await session.scalars(here.order_by(Row.id.desc()).limit(limit))).all()
        return tuple(_exchange(row) for row in reversed(newest))

    async def forget_at(self, channel_id: int, at: datetime) -> int:
        """The exchange of that very moment: its turn was taken back."""
        async with self._store.write() as session:
            gone = delete(Row).where(Row.channel_id == channel_id, Row.at == at)
            return await count(session, gone)

    async def forget_channel(self, channel_id: int) -> int:
        async with self._store.write() as session:
            return await count(session, delete(Row).where(Row.channel_id == channel_id))

    async def forget_user(self, user_id: int) -> int:
        async with self._store.write() as session:
            return await count(session, delete(Row).where(Row.user_id == user_id))


def _row(exchange: Exchange, days: int, store: Transactions) -> Row:
    at = exchange.at or store.now()
    return Row(
        channel_id=exchange.channel_id,
        user_id=exchange.user_id,
        asked=exchange.asked,
        answered=exchange.answered,
        details=exchange.details,
        persona=exchange.persona,
        at=at,
        expires_at=at + timedelta(days=days),
    )


def _exchange(row: Row) -> Exchange:
    return Exchange(
        channel_id=row.channel_id,
        user_id=row.user_id,
        asked=row.asked,
        answered=row.answered,
        details=row.details,
        persona=row.persona,
        at=row.at,
        id=row.id,
    )
