"""Reads what a turn needs of its surroundings, in one transaction."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, or_, select

from oshaberi.storage.outages.repository_decorators import reads
from oshaberi.storage.repositories.exchange_repository import exchange_record
from oshaberi.storage.repositories.summary_repository import SUMMARY_OF, summary_record
from oshaberi.storage.schema import table_rows
from oshaberi.storage.stored_records import (
    ConversationSummary,
    Exchange,
    Fact,
    StoredSurroundings,
    SurroundingsQuery,
)
from oshaberi.storage.transactions import Transactions

_TABLES = table_rows.Base.metadata.tables
_FACTS = _TABLES[table_rows.FactRow.__tablename__]
_EXCHANGES = _TABLES[table_rows.ExchangeRow.__tablename__]
_SPRITES = _TABLES[table_rows.SpriteMessageRow.__tablename__]
_SOURCES = _TABLES[table_rows.TableSourceRow.__tablename__]

_OF_USER = select(_FACTS).where(_FACTS.c.server_id == bindparam("server_id"))
_FACTS_OF_USER = _OF_USER.where(_FACTS.c.user_id == bindparam("user_id")).order_by(_FACTS.c.id)
_FACTS_OF_BOTH = _OF_USER.where(
    or_(_FACTS.c.user_id == bindparam("user_id"), _FACTS.c.user_id.is_(None))
).order_by(_FACTS.c.id)
_RECENT = (
    select(_EXCHANGES)
    .where(
        _EXCHANGES.c.channel_id == bindparam("channel_id"), _EXCHANGES.c.expires_at > bindparam("t")
    )
    .order_by(_EXCHANGES.c.id.desc())
    .limit(bindparam("most"))
)
_LABELS = select(_SPRITES).where(_SPRITES.c.message_id.in_(bindparam("ids", expanding=True)))
_TABLES_SHOWN = select(_SOURCES).where(_SOURCES.c.message_id.in_(bindparam("ids", expanding=True)))


class TurnReading:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def surroundings(self, query: SurroundingsQuery) -> StoredSurroundings:
        now = self._store.now()
        return await self._store.read_at_once(lambda connection: _read(connection, query, now))


def _read(connection: Connection, query: SurroundingsQuery, now: datetime) -> StoredSurroundings:
    ids = {"ids": list(query.message_ids)}
    sprites = connection.execute(_LABELS, ids).all() if query.message_ids else ()
    tables = connection.execute(_TABLES_SHOWN, ids).all() if query.message_ids else ()
    return StoredSurroundings(
        _facts(connection, query),
        _exchanges(connection, query, now) if query.exchanges else (),
        {row.message_id: (row.persona, row.sprite) for row in sprites},
        {row.message_id: row.source for row in tables},
        _summary(connection, query, now),
    )


def _summary(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> ConversationSummary | None:
    row = connection.execute(SUMMARY_OF, {"its_channel": query.channel_id, "now": now}).first()
    return None if row is None else summary_record(row)


def _facts(connection: Connection, query: SurroundingsQuery) -> tuple[Fact, ...]:
    owners = {"server_id": query.server_id, "user_id": query.user_id}
    statement = _FACTS_OF_BOTH if query.server_id else _FACTS_OF_USER
    rows = connection.execute(statement, owners).all()
    facts = [Fact(row.server_id, row.text, row.user_id, row.at, row.id) for row in rows]
    return tuple(sorted(facts, key=lambda fact: fact.user_id is not None))


def _exchanges(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> tuple[Exchange, ...]:
    values = {"channel_id": query.channel_id, "t": now, "most": query.exchanges}
    rows = connection.execute(_RECENT, values).all()
    return tuple(exchange_record(row) for row in reversed(rows))
