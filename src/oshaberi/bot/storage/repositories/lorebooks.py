"""Lorebooks. Their names are not case-sensitive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from oshaberi.bot.storage.changes import StoredChange
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import LorebookRecord
from oshaberi.bot.storage.schema.table_rows import LorebookRow
from oshaberi.bot.storage.transactions import Transactions


class LorebookRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def of(self, server_id: int) -> tuple[LorebookRecord, ...]:
        """Return the books of a server, oldest first."""
        async with self._store.read() as session:
            found = select(LorebookRow).where(LorebookRow.server_id == server_id)
            rows = await session.scalars(found.order_by(LorebookRow.id))
            return tuple(_record(row) for row in rows)

    @reads
    async def get(self, server_id: int, name: str) -> LorebookRecord | None:
        async with self._store.read() as session:
            row = await _find(session, server_id, name)
            return None if row is None else _record(row)

    @writes
    async def save(self, record: LorebookRecord) -> LorebookRecord:
        """Store a book: with this id, or (without an id) with this name, or a new one."""
        async with self._alone(record.server_id) as session:
            row = await _find(session, record.server_id, record.name)
            if record.id:
                if row is not None and row.id != record.id:
                    raise StorageError(f"there is already a lorebook {record.name!r}")
                row = await session.get(LorebookRow, record.id)
                if row is None or row.server_id != record.server_id:
                    raise StorageError(f"the lorebook {record.name!r} is gone: create it again")
            if row is None:
                row = LorebookRow(server_id=record.server_id)
                session.add(row)
            _fill(row, record)
            await session.flush()
            return _record(row)

    @writes
    async def delete(self, server_id: int, name: str) -> bool:
        async with self._alone(server_id) as session:
            row = await _find(session, server_id, name)
            if row is not None:
                await session.delete(row)
            return row is not None

    @asynccontextmanager
    async def _alone(self, server_id: int) -> AsyncIterator[AsyncSession]:
        async with self._store.write(StoredChange("lorebooks", server_id)) as session:
            await self._store.alone(session, f"lorebooks {server_id}")
            yield session


async def _find(session: AsyncSession, server_id: int, name: str) -> LorebookRow | None:
    found = select(LorebookRow).where(
        LorebookRow.server_id == server_id, LorebookRow.name_key == _key(name)
    )
    return (await session.scalars(found)).first()


def _fill(row: LorebookRow, record: LorebookRecord) -> None:
    row.name = record.name.strip()
    row.name_key = _key(record.name)
    row.persona_id = record.persona_id or None
    row.channel_id = record.channel_id
    row.is_enabled = record.is_enabled
    row.content = dict(record.content)


def _record(row: LorebookRow) -> LorebookRecord:
    return LorebookRecord(
        row.server_id,
        row.name,
        row.content,
        row.persona_id or 0,
        row.channel_id,
        row.is_enabled,
        row.id,
    )


def _key(name: str) -> str:
    return name.strip().casefold()
