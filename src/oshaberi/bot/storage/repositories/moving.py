"""What a server takes along to another instance: its rows, read and written as a whole.

`MOVED` names the tables, parents first. What is not in it stays: records of turns, usage, open
questions, and API keys, which only this instance can decrypt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, inspect, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.types import JSON, Boolean, Integer

from oshaberi.bot.storage.changes import ChangeKind, StoredChange
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.schema.ownership import OWNERSHIP, DataSubject
from oshaberi.bot.storage.schema.table_rows import (
    Base,
    ChannelSettingRow,
    FactRow,
    LorebookRow,
    ModelRow,
    OwnFaceRow,
    PersonaRow,
    PictureRow,
    ServerSettingRow,
    SpriteRow,
    UtcMoment,
)
from oshaberi.bot.storage.transactions import Transactions

Row = dict[str, Any]
Rows = Mapping[str, Sequence[Row]]
"""Rows by the name of their table, with typed values."""
PERSONAS, SPRITES, LOREBOOKS = "personas", "sprites", "lorebooks"


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table whose rows move along.

    `own` are the columns that the new instance fills in itself, with their values there (None: its
    code decides). `key` are the columns that tell two rows of one server apart.
    """

    row: type[Base]
    own: Mapping[str, Any]
    key: tuple[str, ...]
    is_memory: bool = False
    """Whether it is about people: it moves along only if somebody asks for it."""

    @property
    def name(self) -> str:
        return str(self.row.__tablename__)

    @property
    def columns(self) -> tuple[ColumnElement[Any], ...]:
        """Return the columns that move along."""
        return tuple(one for one in self.row.__table__.c if one.name not in self.own)


_NOWHERE = {"url": "", "channel_id": 0, "message_id": 0, "needs_signature": False, "told_at": None}
"""A picture's place is a message of the other bot, so the picture is uploaded again from its
copy."""

MOVED: tuple[MovedTable, ...] = (
    MovedTable(ServerSettingRow, {"server_id": None}, ("key",)),
    MovedTable(ChannelSettingRow, {"server_id": None}, ("channel_id", "key")),
    MovedTable(PictureRow, {"server_id": None, **_NOWHERE}, ("address",)),
    MovedTable(PersonaRow, {"server_id": None, "name_key": None}, ("name",)),
    MovedTable(SpriteRow, {"id": None, "name_key": None}, ("persona_id", "name")),
    MovedTable(LorebookRow, {"id": None, "server_id": None, "name_key": None}, ("name",)),
    MovedTable(OwnFaceRow, {"server_id": None, "applied": {}}, ()),
    MovedTable(
        ModelRow, {"id": None, "scope": "server", "owner_id": None}, ("channel_id", "position")
    ),
    MovedTable(FactRow, {"id": None, "server_id": None}, ("user_id", "text"), is_memory=True),
)
_CHANGED: tuple[ChangeKind, ...] = ("settings", "personas", "models", "lorebooks")


class MisreadRowError(ValueError):
    """A row of another instance does not fit its table. The message says why."""


class MovingRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def rows(self, server_id: int, *, memories: bool) -> dict[str, list[Row]]:
        """Return the rows of a server that move along, by table; empty tables are left out."""
        found: dict[str, list[Row]] = {}
        async with self._store.read() as session:
            for table in MOVED:
                if memories or not table.is_memory:
                    found[table.name] = await _rows(session, table, server_id)
        return {name: rows for name, rows in found.items() if rows}

    @writes
    async def move_in(
        self, server_id: int, settle: Callable[[Rows], Rows], replaced: Sequence[str] = ()
    ) -> None:
        """Store rows in one transaction: all of them or none.

        `settle` gets what the server already has, and returns what to store; it may raise. The
        rows of the tables in `replaced` are deleted first.
        """
        async with self._store.write(
            *(StoredChange(kind, server_id) for kind in _CHANGED)
        ) as session:
            for what in (f"personas {server_id}", f"lorebooks {server_id}"):
                await self._store.alone(session, what)
            await self._store.alone(session, f"models server {server_id}")
            rows = settle({one.name: await _rows(session, one, server_id) for one in MOVED})
            await _delete(session, server_id, replaced)
            await _insert(session, server_id, rows)


async def _rows(session: AsyncSession, table: MovedTable, server_id: int) -> list[Row]:
    condition = _owner(table, server_id)
    found = await session.execute(select(*table.columns).where(condition).order_by(*_order(table)))
    return [dict(row) for row in found.mappings()]


def _owner(table: MovedTable, server_id: int) -> Any:
    owned = next(one for one in OWNERSHIP if one.row is table.row)
    return owned.rows_of(DataSubject("server", server_id))


def _order(table: MovedTable) -> tuple[ColumnElement[Any], ...]:
    return tuple(inspect(table.row).primary_key)


async def _delete(session: AsyncSession, server_id: int, replaced: Sequence[str]) -> None:
    for table in reversed(MOVED):
        if table.name in replaced:
            await session.execute(delete(table.row).where(_owner(table, server_id)))


async def _insert(session: AsyncSession, server_id: int, rows: Rows) -> None:
    """Insert rows whose `persona_id` is that of the other instance."""
    ids: dict[int, int] = {}
    for table in MOVED:
        for row in rows.get(table.name, ()):
            values = {**row, **_own_values(table, server_id, row)}
            theirs = values.pop("id", 0)
            if values.get("persona_id"):
                values["persona_id"] = ids[values["persona_id"]]
            if table.row is PersonaRow:
                new = insert(PersonaRow).values(values).returning(PersonaRow.id)
                ids[theirs] = (await session.execute(new)).scalar_one()
            else:
                await session.execute(insert(table.row).values(values))


def _own_values(table: MovedTable, server_id: int, row: Row) -> Row:
    values = {**table.own}
    values.pop("id", None)
    for key in ("server_id", "owner_id"):
        if key in values:
            values[key] = server_id
    if "name_key" in values:
        values["name_key"] = name_key(row["name"])
    return values


def name_key(name: str) -> str:
    """Return the form of a name for comparisons, which ignore case."""
    return name.strip().casefold()


# Rows of another instance: checked against the columns of their table.


def typed_row(table: MovedTable, given: Mapping[str, Any]) -> tuple[Row, tuple[str, ...]]:
    """Return a row with typed values, and the names of columns that are not known here.

    Raises MisreadRowError. A column that the other instance did not have yet gets its default.
    """
    row: Row = {}
    for column in table.columns:
        if column.name in given:
            row[column.name] = _typed(column, given[column.name])
        elif not (column.nullable or column.server_default is not None or column.default):
            raise MisreadRowError(f"{column.name} is missing")
    known = {one.name for one in table.row.__table__.c}
    return row, tuple(sorted(given.keys() - known))


def _typed(column: Any, value: Any) -> Any:
    if value is None:
        if column.nullable:
            return None
        raise MisreadRowError(f"{column.name} is missing")
    if isinstance(column.type, JSON):
        return value
    if isinstance(column.type, UtcMoment):
        return _moment(column.name, value)
    if isinstance(column.type, Boolean):
        wanted: type = bool
    elif isinstance(column.type, Integer):
        return _whole(column.name, value)
    else:
        wanted = str
    if not isinstance(value, wanted):
        raise MisreadRowError(
            f"{column.name} is not {'a text' if wanted is str else 'true or false'}"
        )
    return value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise MisreadRowError(f"{name} is not a whole number")
    return value


def _moment(name: str, value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise MisreadRowError(f"{name} is not a time") from None
    if moment.tzinfo is None or not 2000 <= moment.year <= 2200:
        raise MisreadRowError(f"{name} is not a time")
    return moment
