"""Data about people and servers: export, deletion, expiry; and who has opted out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    and_,
    create_engine,
    delete,
    func,
    inspect,
    literal,
    select,
    union,
)
from sqlalchemy.exc import SQLAlchemyError

from oshaberi.bot.storage.changes import ALL, KINDS, StoredChange
from oshaberi.bot.storage.repositories.models import key_scope
from oshaberi.bot.storage.schema.ownership import (
    OWNERSHIP,
    DataSubject,
    TableOwnership,
)
from oshaberi.bot.storage.schema.table_rows import (
    AnswerReactionRow,
    AnswerVersionRow,
    ApiKeyRow,
    ChannelServerRow,
    ChannelSettingRow,
    DepartedServerRow,
    ExchangeRow,
    FactRow,
    ModelRow,
    OptOutRow,
    PersonaRow,
    PictureRow,
    QuotaNotice,
    ServerSettingRow,
    SpriteMessageRow,
    TableSourceRow,
    TurnRow,
    UsageCount,
    UsageRow,
)
from oshaberi.bot.storage.sqlite_backups import backups_of
from oshaberi.bot.storage.transactions import Transactions, count, in_passing
from oshaberi.bot.storage.usage import first_kept_day

# Users who do not want the bot to read their messages. Their ids are also kept in memory.


class OptOutRepository:
    """The opt-outs. `user_id in opt_outs` only looks in memory; `refresh` reads the database."""

    def __init__(self, store: Transactions) -> None:
        self._store = store
        self.ids: set[int] = set()
        """Always the same set object, which `refresh` and the changes keep up to date."""
        self._seen: tuple[int, datetime | None] = (0, None)

    def __contains__(self, user_id: object) -> bool:
        return user_id in self.ids

    async def add(self, user_id: int) -> None:
        row = self._store.insert(OptOutRow).values(user_id=user_id, at=self._store.now())
        async with self._store.write() as session:
            await session.execute(row.on_conflict_do_nothing())
        self.ids.add(user_id)

    async def remove(self, user_id: int) -> None:
        async with self._store.write() as session:
            theirs = delete(OptOutRow).where(OptOutRow.user_id == user_id)
            await session.execute(in_passing(theirs))
        self.ids.discard(user_id)

    async def refresh(self) -> None:
        """Read all opt-outs again, if something has changed."""
        async with self._store.read() as session:
            summary = select(func.count(), func.max(OptOutRow.at)).select_from(OptOutRow)
            number, newest = (await session.execute(summary)).one()
            if (number, newest) == self._seen and number == len(self.ids):
                return
            now = frozenset(await session.scalars(select(OptOutRow.user_id)))
            self.ids &= now
            self.ids |= now
            self._seen = (number, newest)


# Servers that the bot has left: since when, and which channels they had.


_BY_SERVER = (
    *(ServerSettingRow, ChannelSettingRow, PersonaRow, PictureRow),
    *(FactRow, TurnRow, UsageRow),
)
_BY_OWNER = (ModelRow, ApiKeyRow)


class DepartedServerRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def note(self, server_id: int, channel_ids: Collection[int] = ()) -> None:
        """Note that the bot left a server. If this was noted before, the first time counts."""
        row = self._store.insert(DepartedServerRow).values(
            server_id=server_id, left_at=self._store.now()
        )
        async with self._store.write() as session:
            await session.execute(row.on_conflict_do_nothing())
            if channel_ids:
                places = [{"channel_id": one, "server_id": server_id} for one in channel_ids]
                noted = self._store.insert(ChannelServerRow).on_conflict_do_nothing()
                await session.execute(noted, places)

    async def note_return(self, server_ids: Collection[int]) -> None:
        """Note that the bot is in these servers, so that their data stays."""
        here = DepartedServerRow.server_id.in_(server_ids)
        async with self._store.write() as session:
            await session.execute(in_passing(delete(DepartedServerRow).where(here)))

    async def departed(self, before: datetime | None = None) -> tuple[int, ...]:
        """Return the servers that the bot has left; with `before`, only those left by then."""
        found = select(DepartedServerRow.server_id)
        if before is not None:
            found = found.where(DepartedServerRow.left_at <= before)
        async with self._store.read() as session:
            return tuple(await session.scalars(found.order_by(DepartedServerRow.server_id)))

    async def known_servers(self) -> frozenset[int]:
        """Return every server with stored data."""
        by_server = [select(row.server_id) for row in _BY_SERVER]
        by_owner = [select(row.owner_id).where(row.scope == "server") for row in _BY_OWNER]
        async with self._store.read() as session:
            return frozenset(await session.scalars(union(*by_server, *by_owner))) - {0}

    async def note_channels(self) -> None:
        """Store which server the channel of each turn belongs to, because turns expire sooner."""
        used = select(TurnRow.channel_id, TurnRow.server_id).where(TurnRow.server_id != literal(0))
        row = self._store.insert(ChannelServerRow).from_select(
            ["channel_id", "server_id"], used.distinct()
        )
        async with self._store.write() as session:
            await session.execute(row.on_conflict_do_nothing())


# Expiry: what is older than the operator wants to keep.


@dataclass(frozen=True, slots=True)
class RetentionPeriods:
    """The periods in days; 0 keeps data until somebody deletes it."""

    turns_days: int
    facts_days: int
    usage_days: int


class ExpiryRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def delete_expired(self, periods: RetentionPeriods) -> int:
        """Delete rows that are too old. Return their number."""
        now = self._store.now()
        old = [delete(ExchangeRow).where(ExchangeRow.expires_at <= now)]
        if periods.turns_days:
            since = now - timedelta(days=periods.turns_days)
            old += [delete(row).where(row.at < since) for row in _OF_TURNS]
        if periods.facts_days:
            old.append(delete(FactRow).where(FactRow.at < now - timedelta(days=periods.facts_days)))
        if periods.usage_days:
            first = first_kept_day(now, periods.usage_days)
            old += [delete(row).where(row.day < first) for row in (UsageCount, QuotaNotice)]
        async with self._store.write() as session:
            return sum([await count(session, statement) for statement in old])


_OF_TURNS = (TurnRow, SpriteMessageRow, TableSourceRow, AnswerVersionRow, AnswerReactionRow)


# Export and deletion of everything that is stored about a user, or for a server.


log = logging.getLogger(__name__)

JsonRow = dict[str, Any]


class PersonalDataRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def export(self, subject: DataSubject) -> dict[str, list[JsonRow]]:
        """Return the rows by table as JSON, without secrets and empty tables."""
        found: dict[str, list[JsonRow]] = {}
        async with self._store.read() as session:
            for table, rows in _owned_rows(subject):
                hidden = table.hidden_from(subject)
                columns = [one for one in table.row.__table__.c if one.name not in hidden]
                result = await session.execute(select(*columns).where(rows))
                found[table.name] = [_as_json(row) for row in result.mappings()]
        return {name: rows for name, rows in found.items() if rows}

    async def counts(self, subject: DataSubject) -> dict[str, int]:
        """Count the rows of each table. Empty tables are left out."""
        found: dict[str, int] = {}
        async with self._store.read() as session:
            for table, rows in _owned_rows(subject):
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
        await self._store.writer.flush()  # entries that wait to be written may be theirs, too
        async with self._store.write(*_changes(subject)) as session:
            for table, rows in _owned_rows(subject):
                if table.is_choice:
                    continue
                chosen = _deletable(table, rows, self._store.now(), counted_until)
                gone[table.name] = await count(session, delete(table.row).where(chosen))
        if self._store.address.file is not None:
            await asyncio.to_thread(_delete_in_backups, self._store.address.file, subject)
        return {name: number for name, number in gone.items() if number}


def _delete_in_backups(file: Path, subject: DataSubject) -> None:
    """Delete the rows in the copies of the file. A copy that cannot be changed is deleted.

    A copy has an older schema, so a missing table counts as empty.
    """
    for path in backups_of(file):
        engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
        try:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as copy:
                there = set(inspect(copy).get_table_names())
                for table, rows in _owned_rows(subject):
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
    owner = subject.id if subject.kind == "server" else key_scope(0, subject.id).name
    return [StoredChange("talks", ALL), *(StoredChange(kind, owner) for kind in KINDS)]


def _owned_rows(subject: DataSubject) -> Iterator[tuple[TableOwnership, ColumnElement[bool]]]:
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
