"""Users who do not want the bot to read their messages. Their ids are also kept in memory."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select

from oshaberi.storage.schema.table_rows import OptOutRow
from oshaberi.storage.transactions import Transactions, in_passing


class OptOutRepository:
    """The opt-outs. `user_id in opt_outs` looks in memory; `refresh` reads the database."""

    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._ids: frozenset[int] = frozenset()
        self._seen: tuple[int, datetime | None] = (0, None)

    def __contains__(self, user_id: object) -> bool:
        return user_id in self._ids

    async def add(self, user_id: int) -> None:
        row = self._store.insert(OptOutRow).values(user_id=user_id, at=self._store.now())
        async with self._store.write() as session:
            await session.execute(row.on_conflict_do_nothing())
        self._ids |= {user_id}

    async def remove(self, user_id: int) -> None:
        async with self._store.write() as session:
            theirs = delete(OptOutRow).where(OptOutRow.user_id == user_id)
            await session.execute(in_passing(theirs))
        self._ids -= {user_id}

    async def refresh(self) -> None:
        """Read all opt-outs again, if something has changed."""
        async with self._store.read() as session:
            summary = select(func.count(), func.max(OptOutRow.at)).select_from(OptOutRow)
            number, newest = (await session.execute(summary)).one()
            if (number, newest) == self._seen and number == len(self._ids):
                return
            self._ids = frozenset(await session.scalars(select(OptOutRow.user_id)))
            self._seen = (number, newest)
