"""Summaries of the part of a conversation that a model no longer sees: one per channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, delete, insert, select

from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema import table_rows
from oshaberi.storage.stored_records import ConversationSummary
from oshaberi.storage.transactions import Transactions, count, in_passing
from oshaberi.storage.write_entries import WriteEntry, WriteStep, turns_lane

Row = table_rows.ConversationSummaryRow

_TABLE = table_rows.Base.metadata.tables[Row.__tablename__]
_HERE = _TABLE.c.channel_id == bindparam("its_channel")
SUMMARY_OF = select(_TABLE).where(_HERE, _TABLE.c.expires_at > bindparam("now"))
"""The query for the summary of a channel that is valid at a given time."""
_ADD = insert(_TABLE).inline()
_REPLACE = in_passing(delete(_TABLE).where(_HERE))
_FORGET_MESSAGE = delete(_TABLE).where(
    _HERE,
    _TABLE.c.first_id <= bindparam("its_message"),
    _TABLE.c.last_id >= bindparam("its_message"),
)
_EXPIRED = in_passing(delete(_TABLE).where(_TABLE.c.expires_at <= bindparam("now")))


class SummaryRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def keep(self, summary: ConversationSummary, *, days: int) -> None:
        """Store a channel's summary for `days` days; it replaces the last one.

        Raises StorageAwayError if it is stored later.
        """
        at = summary.at or self._store.now()
        values = {
            "channel_id": summary.channel_id,
            "text": summary.text,
            "first_id": summary.first_id,
            "last_id": summary.last_id,
            "messages": summary.messages,
            "user_ids": _listed(summary.user_ids),
            "at": at,
            "expires_at": at + timedelta(days=days),
        }
        last = WriteStep(_REPLACE, {"its_channel": summary.channel_id})
        lane = turns_lane(summary.channel_id)
        await self._store.writer.write(last, WriteStep(_ADD, values), lane=lane, repeatable=True)

    def pruning(self) -> WriteEntry:
        """Return the entry that deletes expired summaries."""
        return WriteEntry((WriteStep(_EXPIRED, {"now": self._store.now()}),), repeatable=True)

    @reads
    async def of(self, channel_id: int) -> ConversationSummary | None:
        values = {"its_channel": channel_id, "now": self._store.now()}
        async with self._store.read() as session:
            row = (await session.execute(SUMMARY_OF, values)).first()
        return None if row is None else summary_record(row)

    async def forget_messages(self, channel_id: int, message_ids: Sequence[int]) -> None:
        """Delete the channel's summary if it may contain one of these messages.

        Raises StorageAwayError if it is deleted later.
        """
        steps = (
            WriteStep(_FORGET_MESSAGE, {"its_channel": channel_id, "its_message": message_id})
            for message_id in message_ids
        )
        lane = turns_lane(channel_id)
        await self._store.writer.write(*steps, lane=lane, repeatable=True)

    @writes
    async def forget_channel(self, channel_id: int) -> int:
        await self._store.writer.flush()
        async with self._store.write() as session:
            return await count(session, delete(Row).where(Row.channel_id == channel_id))

    @writes
    async def forget_user(self, user_id: int) -> int:
        """Delete all summaries with words of this user. Return their number."""
        await self._store.writer.flush()
        async with self._store.write() as session:
            theirs = Row.user_ids.contains(_listed([user_id]))
            return await count(session, delete(Row).where(theirs))


def summary_record(row: Any) -> ConversationSummary:
    """Return a row of `SUMMARY_OF` as a record."""
    return ConversationSummary(
        channel_id=row.channel_id,
        text=row.text,
        first_id=row.first_id,
        last_id=row.last_id,
        messages=row.messages,
        user_ids=frozenset(int(one) for one in row.user_ids.split(",") if one),
        at=row.at,
    )


def _listed(user_ids: Iterable[int]) -> str:
    """Return the ids as a text in which one id can be searched: `,1,22,`."""
    return f",{','.join(map(str, sorted(user_ids)))},"
