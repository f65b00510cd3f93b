"""Memory: the last exchanges of a channel, summaries of earlier ones, and facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.group_commit import WriteEntry, WriteStep, turns_lane
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import MOST_FACTS, ConversationSummary, Exchange, Fact
from oshaberi.bot.storage.schema import table_rows
from oshaberi.bot.storage.transactions import Transactions, beyond_newest, count, in_passing

# Short-term memory: the last exchanges of each channel, until they expire.


ExchangeRow = table_rows.ExchangeRow

_EXCHANGES = table_rows.Base.metadata.tables[ExchangeRow.__tablename__]
_ADD_EXCHANGE = insert(_EXCHANGES).inline()
_BEYOND_NEWEST = beyond_newest(ExchangeRow.id, ExchangeRow.channel_id)
_EXPIRED_EXCHANGES = in_passing(
    delete(_EXCHANGES).where(_EXCHANGES.c.expires_at <= bindparam("now"))
)
_TURNS = table_rows.Base.metadata.tables[table_rows.TurnRow.__tablename__]
_LINKS = table_rows.Base.metadata.tables[table_rows.TurnMessageRow.__tablename__]
_WROTE = select(_LINKS.c.turn_id).where(_LINKS.c.message_id == bindparam("its_message"))
_MOMENTS = select(_TURNS.c.at).where(
    _TURNS.c.channel_id == bindparam("its_channel"),
    or_(_TURNS.c.asked_id == bindparam("its_message"), _TURNS.c.id.in_(_WROTE)),
)
_FORGET_EXCHANGE = delete(_EXCHANGES).where(
    _EXCHANGES.c.channel_id == bindparam("its_channel"), _EXCHANGES.c.at.in_(_MOMENTS)
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
        return WriteEntry((WriteStep(_ADD_EXCHANGE, values),), lane=turns_lane(exchange.channel_id))

    def pruning(self) -> WriteEntry:
        """Return the entry that deletes expired exchanges, and those beyond the newest `keep`."""
        grown, self._grown = self._grown, {}
        steps = [
            WriteStep(_BEYOND_NEWEST, {"its_channel": channel_id, "last_kept": keep - 1})
            for channel_id, keep in grown.items()
        ]
        expired = WriteStep(_EXPIRED_EXCHANGES, {"now": self._store.now()})
        return WriteEntry((*steps, expired), repeatable=True)

    @reads
    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]:
        """Return the newest exchanges, oldest first."""
        here = select(ExchangeRow).where(
            ExchangeRow.channel_id == channel_id, ExchangeRow.expires_at > self._store.now()
        )
        async with self._store.read() as session:
            newest = (
                await session.scalars(here.order_by(ExchangeRow.id.desc()).limit(limit))
            ).all()
        return tuple(exchange_record(row) for row in reversed(newest))

    async def forget_messages(self, channel_id: int, message_ids: Sequence[int]) -> None:
        """Delete the exchanges of turns that answered or wrote these messages.

        This includes turns whose records still wait to be written. Raises StorageAwayError if the
        database is away; it then deletes them later.
        """
        await _forget_messages(self._store, _FORGET_EXCHANGE, channel_id, message_ids)

    @writes
    async def forget_at(self, channel_id: int, at: datetime) -> int:
        """Delete the exchange of exactly that time, because its turn was undone."""
        async with self._store.write() as session:
            gone = delete(ExchangeRow).where(
                ExchangeRow.channel_id == channel_id, ExchangeRow.at == at
            )
            return await count(session, gone)

    @reads
    async def answer_at(self, channel_id: int, moments: Sequence[datetime]) -> tuple[str, str]:
        """Return what the turns at these times answered: all parts of one answer."""
        rows = select(ExchangeRow).where(
            ExchangeRow.channel_id == channel_id, ExchangeRow.at.in_(moments)
        )
        async with self._store.read() as session:
            parts = (await session.scalars(rows.order_by(ExchangeRow.id))).all()
        answered = "\n".join(part.answered for part in parts if part.answered)
        return answered, "\n".join(part.details for part in parts if part.details)

    @writes
    async def replace_answer(
        self, channel_id: int, moments: Sequence[datetime], answered: str, details: str
    ) -> None:
        """Replace the text of an answer, given the times of its parts.

        The last part gets it all.
        """
        here = ExchangeRow.channel_id == channel_id
        words = {"answered": answered, "details": details}
        async with self._store.write() as session:
            known = select(ExchangeRow.at).where(here, ExchangeRow.at.in_(moments))
            found = tuple(await session.scalars(known.order_by(ExchangeRow.id)))
            for at in found[:-1]:
                await session.execute(delete(ExchangeRow).where(here, ExchangeRow.at == at))
            for at in found[-1:]:
                changed = update(ExchangeRow).where(here, ExchangeRow.at == at)
                await session.execute(changed.values(**words))

    @writes
    async def forget_channel(self, channel_id: int) -> int:
        await self._store.writer.flush()
        async with self._store.write() as session:
            return await count(
                session, delete(ExchangeRow).where(ExchangeRow.channel_id == channel_id)
            )

    @writes
    async def forget_user(self, user_id: int) -> int:
        await self._store.writer.flush()
        async with self._store.write() as session:
            return await count(session, delete(ExchangeRow).where(ExchangeRow.user_id == user_id))


async def _forget_messages(
    store: Transactions, forget: Executable, channel_id: int, message_ids: Sequence[int]
) -> None:
    """Delete what was derived from these messages, in order with the channel's records."""
    steps = (
        WriteStep(forget, {"its_channel": channel_id, "its_message": message_id})
        for message_id in message_ids
    )
    await store.writer.write(*steps, lane=turns_lane(channel_id), repeatable=True)


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


# Long-term memory: facts. A fact belongs to one user, or to the server.


FactRow = table_rows.FactRow


class FactRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def add(self, fact: Fact) -> Fact:
        at = fact.at or self._store.now()
        row = FactRow(
            server_id=fact.server_id,
            user_id=fact.user_id,
            text=fact.text,
            at=at,
            persona_id=fact.persona_id,
        )
        owned = _belongs_to(fact.server_id, fact.user_id)
        known = select(func.count()).where(owned)
        async with self._store.write() as session:
            # Anybody who adds at the same time waits here, and then counts this fact, too.
            first = select(FactRow.id).where(owned).order_by(FactRow.id).limit(1)
            await session.execute(first.with_for_update())
            if (await session.scalar(known) or 0) >= MOST_FACTS:
                raise StorageError(f"{MOST_FACTS} facts are remembered already: delete some first")
            session.add(row)
            await session.flush()
        return replace(fact, at=at, id=row.id)

    @reads
    async def of(self, server_id: int, user_id: int | None) -> tuple[Fact, ...]:
        """Return this user's facts in this server, or (None) the server's own; oldest first."""
        rows = select(FactRow).where(_belongs_to(server_id, user_id)).order_by(FactRow.id)
        async with self._store.read() as session:
            found = (await session.scalars(rows)).all()
        return tuple(fact_record(row) for row in found)

    @writes
    async def delete(self, server_id: int, user_id: int | None, fact_id: int) -> bool:
        rows = delete(FactRow).where(_belongs_to(server_id, user_id), FactRow.id == fact_id)
        async with self._store.write() as session:
            return await count(session, rows) > 0

    @writes
    async def delete_all(
        self, server_id: int, user_id: int | None, persona_id: int | None = None
    ) -> int:
        """Delete all facts; with a persona, only those that it alone knows (0: shared ones)."""
        gone = delete(FactRow).where(_belongs_to(server_id, user_id))
        if persona_id is not None:
            gone = gone.where(FactRow.persona_id == persona_id)
        async with self._store.write() as session:
            return await count(session, gone)


def fact_record(row: Any) -> Fact:
    """Return a row of the table as a record."""
    return Fact(row.server_id, row.text, row.user_id, row.at, row.id, row.persona_id)


def _belongs_to(server_id: int, user_id: int | None) -> ColumnElement[bool]:
    return and_(FactRow.server_id == server_id, FactRow.user_id == user_id)


# Summaries of the part of a conversation that a model no longer sees: one per channel.


ConversationSummaryRow = table_rows.ConversationSummaryRow

_SUMMARIES = table_rows.Base.metadata.tables[ConversationSummaryRow.__tablename__]
_HERE = _SUMMARIES.c.channel_id == bindparam("its_channel")
SUMMARY_OF = select(_SUMMARIES).where(_HERE, _SUMMARIES.c.expires_at > bindparam("now"))
"""The query for the summary of a channel that is valid at a given time."""
_ADD_SUMMARY = insert(_SUMMARIES).inline()
_REPLACE = in_passing(delete(_SUMMARIES).where(_HERE))
_FORGET_SUMMARY = delete(_SUMMARIES).where(
    _HERE,
    _SUMMARIES.c.first_id <= bindparam("its_message"),
    _SUMMARIES.c.last_id >= bindparam("its_message"),
)
_EXPIRED_SUMMARIES = in_passing(
    delete(_SUMMARIES).where(_SUMMARIES.c.expires_at <= bindparam("now"))
)


class SummaryRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def keep(self, summary: ConversationSummary, *, days: int) -> None:
        """Store a channel's summary for `days` days; it replaces the last one.

        Raises StorageAwayError if the database is away; it is then stored later.
        """
        at = summary.at or self._store.now()
        values = {
            "channel_id": summary.channel_id,
            "text": summary.text,
            "first_id": summary.first_id,
            "last_id": summary.last_id,
            "messages": summary.messages,
            "user_ids": _id_list(summary.user_ids),
            "at": at,
            "expires_at": at + timedelta(days=days),
        }
        last = WriteStep(_REPLACE, {"its_channel": summary.channel_id})
        lane = turns_lane(summary.channel_id)
        await self._store.writer.write(
            last, WriteStep(_ADD_SUMMARY, values), lane=lane, repeatable=True
        )

    def pruning(self) -> WriteEntry:
        """Return the entry that deletes expired summaries."""
        return WriteEntry(
            (WriteStep(_EXPIRED_SUMMARIES, {"now": self._store.now()}),), repeatable=True
        )

    @reads
    async def of(self, channel_id: int) -> ConversationSummary | None:
        values = {"its_channel": channel_id, "now": self._store.now()}
        async with self._store.read() as session:
            row = (await session.execute(SUMMARY_OF, values)).first()
        return None if row is None else summary_record(row)

    async def forget_messages(self, channel_id: int, message_ids: Sequence[int]) -> None:
        """Delete the channel's summary if it may contain one of these messages.

        Raises StorageAwayError if the database is away; it is then deleted later.
        """
        await _forget_messages(self._store, _FORGET_SUMMARY, channel_id, message_ids)

    @writes
    async def forget_channel(self, channel_id: int) -> int:
        await self._store.writer.flush()
        async with self._store.write() as session:
            return await count(
                session,
                delete(ConversationSummaryRow).where(
                    ConversationSummaryRow.channel_id == channel_id
                ),
            )

    @writes
    async def forget_user(self, user_id: int) -> int:
        """Delete all summaries with words of this user. Return their number."""
        await self._store.writer.flush()
        async with self._store.write() as session:
            theirs = ConversationSummaryRow.user_ids.contains(_id_list([user_id]))
            return await count(session, delete(ConversationSummaryRow).where(theirs))


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


def _id_list(user_ids: Iterable[int]) -> str:
    """Return the ids as a text in which one id can be searched: `,1,22,`."""
    return f",{','.join(map(str, sorted(user_ids)))},"
