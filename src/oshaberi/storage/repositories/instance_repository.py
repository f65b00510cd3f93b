"""The processes of the bot, by their names in the journal."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import and_, delete, func, or_, select

from oshaberi.storage.schema.table_rows import InstanceRow, JournalStreamRow
from oshaberi.storage.transactions import Transactions

KEPT_DAYS = 30


class InstanceRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def beat(self, name: str) -> None:
        """This one is there now."""
        now = self._store.now()
        row = self._store.insert(InstanceRow).values(name=name, alive_at=now)
        row = row.on_conflict_do_update(
            index_elements=["name"], set_={"alive_at": row.excluded.alive_at}
        )
        async with self._store.write() as session:
            await session.execute(row)
            long_gone = InstanceRow.alive_at < now - timedelta(KEPT_DAYS)
            await session.execute(delete(InstanceRow).where(long_gone))

    async def gone(self, silent_for: timedelta) -> tuple[str, ...]:
        """Who has left answers in the journal and has not been heard of for so long."""
        edge = self._store.now() - silent_for
        begun = select(JournalStreamRow.instance, func.max(JournalStreamRow.began).label("last"))
        left = begun.group_by(JournalStreamRow.instance).subquery()
        # Who has never said that it is there may have begun only now.
        never = and_(InstanceRow.name.is_(None), left.c.last < edge)
        names = select(left.c.instance).outerjoin(InstanceRow, InstanceRow.name == left.c.instance)
        async with self._store.read() as session:
            found = await session.scalars(names.where(or_(InstanceRow.alive_at < edge, never)))
            return tuple(found)
