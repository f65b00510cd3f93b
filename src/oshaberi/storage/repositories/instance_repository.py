"""The processes of the bot, by the names that they have in the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from sqlalchemy import Subquery, and_, delete, func, or_, select

from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema.table_rows import InstanceRow, JournalStreamRow, QuestionRow
from oshaberi.storage.transactions import Transactions, in_passing

KEPT_DAYS = 30


class InstanceRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def beat(self, name: str, leases: Iterable[str] = ()) -> None:
        """Note that this process is running and holds these leases."""
        now = self._store.now()
        words = " ".join(sorted(leases))
        row = self._store.insert(InstanceRow).values(name=name, alive_at=now, leases=words)
        again = {key: row.excluded[key] for key in ("alive_at", "leases")}
        row = row.on_conflict_do_update(index_elements=["name"], set_=again)
        async with self._store.write() as session:
            await session.execute(row)
            long_gone = InstanceRow.alive_at < now - timedelta(KEPT_DAYS)
            await session.execute(in_passing(delete(InstanceRow).where(long_gone)))

    @reads
    async def gone(self, silent_for: timedelta) -> tuple[str, ...]:
        """Return processes that have open answers or questions and were silent for so long."""
        edge = self._store.now() - silent_for
        begun = _left()
        last = func.max(begun.c.at).label("last")
        left = select(begun.c.instance, last).group_by(begun.c.instance).subquery()
        # A process without a heartbeat may have started only now.
        never = and_(InstanceRow.name.is_(None), left.c.last < edge)
        names = select(left.c.instance).outerjoin(InstanceRow, InstanceRow.name == left.c.instance)
        async with self._store.read() as session:
            found = await session.scalars(names.where(or_(InstanceRow.alive_at < edge, never)))
            return tuple(found)

    @reads
    async def others(self, name: str) -> Mapping[str, frozenset[str]]:
        """Return other processes with open answers or questions, and their leases."""
        begun = _left()
        rows = select(InstanceRow.name, InstanceRow.leases).where(
            InstanceRow.name != name, InstanceRow.name.in_(select(begun.c.instance))
        )
        async with self._store.read() as session:
            found = (await session.execute(rows)).all()
        return {other: frozenset(leases.split()) for other, leases in found}


def _left() -> Subquery:
    """Return a query of all open answers and questions, with instance and time."""
    answers = select(JournalStreamRow.instance, JournalStreamRow.began.label("at"))
    questions = select(QuestionRow.instance, QuestionRow.at.label("at"))
    return answers.union_all(questions).subquery()
