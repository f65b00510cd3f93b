"""Short-term memory: the last exchanges of each channel, until they expire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, delete, insert, or_, select

from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema import table_rows
from oshaberi.storage.stored_records import Exchange
from oshaberi.storage.transactions import Transactions, beyond_newest, count, in_passing
from oshaberi.storage.write_entries import WriteEntry, WriteStep, turns_lane

Row = table_rows.ExchangeRow

_TABLE = table_rows.Base.metadata.tables[Row.__tablename__]
_ADD = insert(_TABLE).inline()
_BEYOND_NEWEST = beyond_newest(Row.id, Row.channel_id)
_EXPIRED = in_passing(delete(_TABLE).where(_TABLE.c.expires_at <= bindparam("now")))
_TURNS = table_rows.Base.metadata.tables[table_rows.TurnRow.__tablename__]
_LINKS = table_rows.Base.metadata.tables[table_rows.TurnMessageRow.__tablename__]
_WROTE = select(_LINKS.c.turn_id).where(_LINKS.c.message_id == bindparam("its_message"))
_MOMENTS = select(_TURNS.c.at).where(
    _TURNS.c.channel_id == bindparam("its_channel"),
    or_(_TURNS.c.asked_id == bindparam("its_message"), _TURNS.c.id.in_(_WROTE)),
)
_FORGET_MESSAGE = delete(_TABLE).where(
    _TABLE.c.channel_id == bindparam("its_channel"), _TABLE.c.at.in_(_MOMENTS)
)


class ExchangeRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._grown: dict[int, int] = {}
        """Channels with new exchanges since the last pruning, and how many exchanges each keeps."""

    async def add(self, exchange: Exchange, *, keep: int, days: int) -> None:
        """Store an exchange for `days` days. The channel keeps its newest `keep` exchanges."""
        if keep <= 0:
            await self.forget_channel(exchange.channel_id)
            return
        await self._store.writer.write_entry(self.adding(exchange, keep=keep, days=days))

    def adding(self, exchange: Exchange, *, keep: int, days: int) -> WriteEntry:
        self._grown[exchange.channel_id] = keep
        at = exchange.at or self._store.now()
        values = {
            "channel_id": exchange.channel_id,
            "user_id": exchange.user_id,
            "asked": exchange.asked,
            "answered": exchange.answered,
            "details": exchange.details,
            "persona": exchange.persona,
            "at": at,
            "expires_at": at + timedelta(days=days),
        }
        return WriteEntry((WriteStep(_ADD, values),), lane=turns_lane(exchange.channel_id))

    def pruning(self) -> WriteEntry:
        """Return the entry that deletes expired exchanges, and those beyond the newest `keep`."""
        grown, self._grown = self._grown, {}
        steps = [
            WriteStep(_BEYOND_NEWEST, {"its_channel": channel_id, "last_kept": keep - 1})
            for channel_id, keep in grown.items()
        ]
        expired = WriteStep(_EXPIRED, {"now": self._store.now()})
        return WriteEntry((*steps, expired), repeatable=True)

    @reads
    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]:
        """Return the newest exchanges, oldest first."""
        here = select(Row).where(Row.channel_id == channel_id, Row.expires_at > self._store.now())
        async with self._store.read() as session:
            newest = (await session.scalars(here.order_by(Row.id.desc()).limit(limit))).all()
        return tuple(exchange_record(row) for row in reversed(newest))

    async def forget_messages(self, channel_id: int, message_ids: Sequence[int]) -> None:
        """Delete the exchanges of turns that answered or wrote these messages.

        This includes turns whose records still wait to be written. Raises StorageAwayError if they
        are deleted later.
        """
        steps = (
            WriteStep(_FORGET_MESSAGE, {"its_channel": channel_id, "its_message": message_id})
            for message_id in message_ids
        )
        lane = turns_lane(channel_id)
        await self._store.writer.write(*steps, lane=lane, repeatable=True)

    @writes
    async def forget_at(self, channel_id: int, at: datetime) -> int:
        """Delete the exchange of exactly that time, because its turn was taken back."""
        async with self._store.write() as session:
            gone = delete(Row).where(Row.channel_id == channel_id, Row.at == at)
            return await count(session, gone)

    @writes
    async def forget_channel(self, channel_id: int) -> int:
        await self._store.writer.flush()
        async with self._store.write() as session:
            return await count(session, delete(Row).where(Row.channel_id == channel_id))

    @writes
    async def forget_user(self, user_id: int) -> int:
        await self._store.writer.flush()
        async with self._store.write() as session:
            return await count(session, delete(Row).where(Row.user_id == user_id))


def exchange_record(row: Any) -> Exchange:
    """Return a row of the table as a record."""
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
