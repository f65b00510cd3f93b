"""Exports and deletes everything that is stored about a user, or for a server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, and_, create_engine, delete, func, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from oshaberi.storage.changes.change_feed import KINDS, StoredChange
from oshaberi.storage.key_scope import key_scope
from oshaberi.storage.personal_data.table_ownership import (
    OWNERSHIP,
    DataSubject,
    TableOwnership,
)
from oshaberi.storage.sqlite_backups import backups_of
from oshaberi.storage.transactions import Transactions, count

log = logging.getLogger(__name__)

JsonRow = dict[str, Any]


class PersonalDataRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def export(self, subject: DataSubject) -> dict[str, list[JsonRow]]:
        """Return the rows by table as JSON, without secrets and empty tables."""
        found: dict[str, list[JsonRow]] = {}
        async with self._store.read() as session:
            for table, rows in _owned(subject):
                hidden = table.hidden_from(subject)
                columns = [one for one in table.row.__table__.c if one.name not in hidden]
                result = await session.execute(select(*columns).where(rows))
                found[table.name] = [_as_json(row) for row in result.mappings()]
        return {name: rows for name, rows in found.items() if rows}

    async def counts(self, subject: DataSubject) -> dict[str, int]:
        """Count the rows of each table. Empty tables are left out."""
        found: dict[str, int] = {}
        async with self._store.read() as session:
            for table, rows in _owned(subject):
                number = select(func.count()).select_from(table.row).where(rows)
                found[table.name] = await session.scalar(number) or 0
        return {name: number for name, number in found.items() if number}

    async def delete(
        self, subject: DataSubject, *, counted_until: date | None = None
    ) -> dict[str, int]:
        """Delete all rows of the subject in one transaction. Return the number of rows by table.

        `counted_until`: usage counts of this day and later stay, because limits depend on them.
        The backups beside a SQLite file lose the rows too.
        """
        gone: dict[str, int] = {}
        await self._store.writer.flush()  # what waits to be written is theirs too
        async with self._store.write(*_changes(subject)) as session:
            for table, rows in _owned(subject):
                if table.is_choice:
                    continue
                chosen = _deletable(table, rows, self._store.now(), counted_until)
                gone[table.name] = await count(session, delete(table.row).where(chosen))
        if self._store.address.file is not None:
            await asyncio.to_thread(_delete_in_backups, self._store.address.file, subject)
        return {name: number for name, number in gone.items() if number}


def _delete_in_backups(file: Path, subject: DataSubject) -> None:
    """Delete the rows in the copies of the file. A copy that cannot be changed is deleted.

    A copy has an older schema: a table that it does not have holds nothing.
    """
    for path in backups_of(file):
        engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
        try:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as copy:
                there = set(inspect(copy).get_table_names())
                for table, rows in _owned(subject):
                    if table.name in there:
                        copy.execute(delete(table.row).where(rows))
                copy.exec_driver_sql("VACUUM")
        except SQLAlchemyError as error:
            reason = next(iter(str(getattr(error, "orig", error)).splitlines()), "")
            log.warning("the backup %s is deleted, it held what was deleted: %s", path, reason)
            path.unlink(missing_ok=True)
        finally:
            engine.dispose()


def _changes(subject: DataSubject) -> list[StoredChange]:
    """Return the changes to tell caches about."""
    if subject.kind == "server":
        return [StoredChange(kind, subject.id) for kind in KINDS]
    return [StoredChange(kind, key_scope(0, subject.id).name) for kind in KINDS]


def _owned(subject: DataSubject) -> Iterator[tuple[TableOwnership, ColumnElement[bool]]]:
    for table in OWNERSHIP:
        rows = table.rows_of(subject)
        if rows is not None:
            yield table, rows


def _deletable(
    table: TableOwnership,
    rows: ColumnElement[bool],
    now: datetime,
    counted_until: date | None,
) -> ColumnElement[bool]:
    if table.is_ended is not None:
        return and_(rows, table.is_ended(now))
    if table.is_count and counted_until is not None:
        return and_(rows, table.row.__table__.c.day < counted_until)
    return rows


def _as_json(row: Mapping[Any, Any]) -> JsonRow:
    return {str(key): _plain(str(key), value) for key, value in row.items()}


def _plain(key: str, value: Any) -> Any:
    """Return a value for JSON.

    Discord ids become text: many JSON readers lose their last digits.
    """
    if isinstance(value, datetime | date):
        return value.isoformat()
    if key.endswith("_id") and isinstance(value, int):
        return str(value)
    if key.endswith("_ids") and isinstance(value, list):
        return [str(one) for one in value]
    return value
