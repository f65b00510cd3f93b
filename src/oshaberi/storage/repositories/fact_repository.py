"""Long-term memory: facts. A fact belongs to one user, or to the server."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import ColumnElement, and_, delete, func, select

from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema import table_rows
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import MOST_FACTS, Fact
from oshaberi.storage.transactions import Transactions, count

Row = table_rows.FactRow


class FactRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def add(self, fact: Fact) -> Fact:
        at = fact.at or self._store.now()
        row = Row(server_id=fact.server_id, user_id=fact.user_id, text=fact.text, at=at)
        owned = _owned(fact.server_id, fact.user_id)
        known = select(func.count()).where(owned)
        async with self._store.write() as session:
            # Whoever adds at the same time waits here, then counts this fact too.
            first = select(Row.id).where(owned).order_by(Row.id).limit(1)
            await session.execute(first.with_for_update())
            if (await session.scalar(known) or 0) >= MOST_FACTS:
                raise StorageError(f"{MOST_FACTS} facts are remembered already: delete some first")
            session.add(row)
            await session.flush()
        return replace(fact, at=at, id=row.id)

    @reads
    async def of(self, server_id: int, user_id: int | None) -> tuple[Fact, ...]:
        """Return this user's facts in this server, or (None) the server's own; oldest first."""
        rows = select(Row).where(_owned(server_id, user_id)).order_by(Row.id)
        async with self._store.read() as session:
            found = (await session.scalars(rows)).all()
        return tuple(Fact(row.server_id, row.text, row.user_id, row.at, row.id) for row in found)

    @writes
    async def delete(self, server_id: int, user_id: int | None, fact_id: int) -> bool:
        rows = delete(Row).where(_owned(server_id, user_id), Row.id == fact_id)
        async with self._store.write() as session:
            return await count(session, rows) > 0

    @writes
    async def delete_all(self, server_id: int, user_id: int | None) -> int:
        async with self._store.write() as session:
            return await count(session, delete(Row).where(_owned(server_id, user_id)))


def _owned(server_id: int, user_id: int | None) -> ColumnElement[bool]:
    return and_(Row.server_id == server_id, Row.user_id == user_id)
