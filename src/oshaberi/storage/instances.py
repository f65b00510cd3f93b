"""Which processes of the bot are there, by their names in the journal."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import and_, delete, func, or_, select

from oshaberi.storage.schema import Instance, JournalStream
from oshaberi.storage.store import Store

KEPT_DAYS = 30


class Instances:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def beat(self, name: str) -> None:
        """This one is there now."""
        now = self._store.now()
        row = self._store.insert(Instance).values(name=name, alive_at=now)
        row = row.on_conflict_do_update(
            index_elements=["name"], set_={"alive_at": row.excluded.alive_at}
        )
        async with self._store.write() as session:
            await session.execute(row)
            long_gone = Instance.alive_at < now - timedelta(KEPT_DAYS)
            await session.execute(delete(Instance).where(long_gone))

    async def gone(self, silent_for: timedelta) -> tuple[str, ...]:
        """Who has left answers in the journal and has not been heard of for so long."""
        edge = self._store.now() - silent_for
        begun = select(JournalStream.instance, func.max(JournalStream.began).label("last"))
        left = begun.group_by(JournalStream.instance).subquery()
        # Who has never said that it is there may have begun only now.
        never = and_(Instance.name.is_(None), left.c.last < edge)
        names = select(left.c.instance).outerjoin(Instance, Instance.name == left.c.instance)
        async with self._store.read() as session:
            found = await session.scalars(names.where(or_(Instance.alive_at < edge, never)))
            return tuple(found)
