"""Questions that were admitted and have no answer yet.

A row is written before the turn begins, and deleted when the answer is settled, whatever the answer
is. The next process takes over the rows of an ended one.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import Executable, bindparam, case, delete, select, update

from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema.table_rows import Base, QuestionRow
from oshaberi.storage.stored_records import StoredQuestion
from oshaberi.storage.transactions import Transactions, in_passing
from oshaberi.storage.write_entries import WriteEntry, WriteStep, turns_lane

KEPT_DAYS = 7
"""After that nobody expects an answer, even in a channel that could not be reached."""

_QUESTIONS = Base.metadata.tables[QuestionRow.__tablename__]
_SETTLE = in_passing(
    delete(_QUESTIONS).where(
        _QUESTIONS.c.channel_id == bindparam("its_channel"),
        _QUESTIONS.c.message_id == bindparam("its_message"),
    )
)


class QuestionRepository:
    """The questions of one process, told apart from those of earlier processes of its name."""

    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._process = secrets.token_hex(8)
        self._keep = _keeping(store)

    async def keep(self, question: StoredQuestion) -> None:
        """Store a question of this process. A stored one keeps its time, unless `is_begun`."""
        await self._store.writer.write_entry(self.keeping(question))

    def keeping(self, question: StoredQuestion) -> WriteEntry:
        values = {
            "channel_id": question.channel_id,
            "message_id": question.message_id,
            "server_id": question.server_id,
            "user_id": question.user_id,
            "instance": question.instance,
            "process": self._process,
            "why": question.why,
            "is_begun": question.is_begun,
            "at": question.at or self._store.now(),
        }
        lane = turns_lane(question.channel_id)
        step = WriteStep(self._keep, values, _row_of(question.channel_id, question.message_id))
        return WriteEntry((step,), lane=lane, repeatable=True)

    async def settle(self, channel_id: int, message_ids: Collection[int]) -> None:
        """Delete questions that were answered or refused with a notice."""
        if message_ids:
            await self._store.writer.write_entry(self.settling(channel_id, message_ids))

    def settling(self, channel_id: int, message_ids: Collection[int]) -> WriteEntry:
        steps = [
            WriteStep(_SETTLE, values, _row_of(channel_id, values["its_message"]))
            for values in (
                {"its_channel": channel_id, "its_message": message_id} for message_id in message_ids
            )
        ]
        return WriteEntry(tuple(steps), lane=turns_lane(channel_id), repeatable=True)

    @reads
    async def left(self, instance: str) -> tuple[StoredQuestion, ...]:
        """Return the questions of earlier processes of that name, in message order."""
        mine = QuestionRow.instance == instance, QuestionRow.process != self._process
        rows = select(QuestionRow).where(*mine).order_by(QuestionRow.message_id)
        async with self._store.read() as session:
            return tuple(map(_record, await session.scalars(rows)))

    @reads
    async def open_in(self, channel_id: int) -> frozenset[int]:
        """Return the open questions of a channel, of all processes."""
        ids = select(QuestionRow.message_id).where(QuestionRow.channel_id == channel_id)
        async with self._store.read() as session:
            return frozenset(await session.scalars(ids))

    @writes
    async def forget_old(self) -> None:
        """Delete questions that are too old to be answered."""
        edge = self._store.now() - timedelta(KEPT_DAYS)
        async with self._store.write() as session:
            await session.execute(in_passing(delete(QuestionRow).where(QuestionRow.at < edge)))

    @writes
    async def adopt(self, instance: str, new_instance: str) -> int:
        """Give the questions of one process to another. Return their number."""
        theirs = (
            update(QuestionRow)
            .where(QuestionRow.instance == instance)
            .values(instance=new_instance)
        )
        async with self._store.write() as session:
            return len(tuple(await session.scalars(theirs.returning(QuestionRow.message_id))))


def _row_of(channel_id: int, message_id: int) -> tuple[object, ...]:
    return "question", channel_id, message_id


def _keeping(store: Transactions) -> Executable:
    row = store.insert(_QUESTIONS)
    again = {name: row.excluded[name] for name in ("instance", "process", "why", "is_begun")}
    again["at"] = case((row.excluded.is_begun, row.excluded.at), else_=_QUESTIONS.c.at)
    statement: Executable = row.on_conflict_do_update(
        index_elements=["channel_id", "message_id"], set_=again
    )
    return statement


def _record(row: QuestionRow) -> StoredQuestion:
    return StoredQuestion(
        channel_id=row.channel_id,
        message_id=row.message_id,
        server_id=row.server_id,
        user_id=row.user_id,
        instance=row.instance,
        why=row.why,
        at=row.at,
        is_begun=row.is_begun,
    )
