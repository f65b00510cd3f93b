"""Reads what a turn needs of its surroundings: with PostgreSQL in one statement, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Connection,
    and_,
    any_,
    bindparam,
    func,
    or_,
    select,
)

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
_IDS = ARRAY(BigInteger())

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
_ROWS_AS_JSON = {
    "facts": _OF_USER.where(
        or_(
            _FACTS.c.user_id == bindparam("user_id"),
            and_(_FACTS.c.user_id.is_(None), _FACTS.c.server_id != 0),
        )
    ).order_by(_FACTS.c.id),
    "exchanges": _RECENT,
    "sprites": select(_SPRITES).where(_SPRITES.c.message_id == any_(bindparam("ids", type_=_IDS))),
    "tables": select(_SOURCES).where(_SOURCES.c.message_id == any_(bindparam("ids", type_=_IDS))),
    "summary": SUMMARY_OF,
}
_ALL_AT_ONCE = select(
    *(
        select(func.json_agg(rows.subquery(name).table_valued(), type_=JSON))
        .scalar_subquery()
        .label(name)
        for name, rows in _ROWS_AS_JSON.items()
    )
)
"""Every row as a JSON object, so that a database far away is waited for once."""
_LABELS = select(_SPRITES).where(_SPRITES.c.message_id.in_(bindparam("ids", expanding=True)))
_TABLES_SHOWN = select(_SOURCES).where(_SOURCES.c.message_id.in_(bindparam("ids", expanding=True)))


class TurnReading:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def surroundings(self, query: SurroundingsQuery) -> StoredSurroundings:
        now = self._store.now()
        if self._store.address.kind == "postgresql":
            return await self._store.read_at_once(lambda one: _read_as_json(one, query, now))
        return await self._store.read_at_once(lambda connection: _read(connection, query, now))


def _read_as_json(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> StoredSurroundings:
    values = {
        "server_id": query.server_id,
        "user_id": query.user_id,
        "channel_id": query.channel_id,
        "its_channel": query.channel_id,
        "t": now,
        "now": now,
        "most": query.exchanges,
        "ids": list(query.message_ids),
    }
    found = connection.execute(_ALL_AT_ONCE, values).one()
    summaries = [summary_record(row) for row in _rows(found.summary)]
    return StoredSurroundings(
        _of_server_first(_fact(row) for row in _rows(found.facts)),
        tuple(exchange_record(row) for row in reversed(_rows(found.exchanges))),
        {row.message_id: (row.persona, row.sprite) for row in _rows(found.sprites)},
        {row.message_id: row.source for row in _rows(found.tables)},
        next(iter(summaries), None),
    )


def _rows(found: list[dict[str, Any]] | None) -> list[Any]:
    """Return JSON objects as rows, with `at` as a time."""
    return [
        SimpleNamespace(**{**row, "at": datetime.fromisoformat(row["at"]).astimezone(UTC)})
        for row in found or ()
    ]


def _fact(row: Any) -> Fact:
    return Fact(row.server_id, row.text, row.user_id, row.at, row.id)


def _of_server_first(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(facts, key=lambda fact: fact.user_id is not None))


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
    return _of_server_first(map(_fact, rows))


def _exchanges(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> tuple[Exchange, ...]:
    values = {"channel_id": query.channel_id, "t": now, "most": query.exchanges}
    rows = connection.execute(_RECENT, values).all()
    return tuple(exchange_record(row) for row in reversed(rows))
