"""API keys. In the database there is only what the vault made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import delete, select, update

from oshaberi.storage.schema.table_rows import ApiKeyRow
from oshaberi.storage.secret_vault import SecretVault
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import KeyRecord
from oshaberi.storage.transactions import Transactions, count

EVERYBODY = 0


class KeyRepository:
    def __init__(self, store: Transactions, vault: SecretVault) -> None:
        self._store = store
        self._vault = vault

    async def of(self, server_id: int, provider: str) -> tuple[KeyRecord, ...]:
        """Its own, then everybody's; oldest first."""
        rows = (
            select(ApiKeyRow)
            .where(ApiKeyRow.server_id.in_({server_id, EVERYBODY}), ApiKeyRow.provider == provider)
            .order_by(ApiKeyRow.server_id == EVERYBODY, ApiKeyRow.id)
        )
        async with self._store.read() as session:
            return tuple(self._record(row) for row in await session.scalars(rows))

    async def add(self, record: KeyRecord) -> KeyRecord:
        row = ApiKeyRow(
            server_id=record.server_id,
            provider=record.provider,
            token=self._vault.encrypt(record.secret),
            label=record.label,
            rest_until=record.rest_until,
        )
        async with self._store.write() as session:
            session.add(row)
            await session.flush()
        return replace(record, id=row.id)

    async def remove(self, server_id: int, key_id: int) -> bool:
        rows = delete(ApiKeyRow).where(ApiKeyRow.server_id == server_id, ApiKeyRow.id == key_id)
        async with self._store.write() as session:
            return await count(session, rows) > 0

    async def rest(self, key_id: int, until: datetime) -> None:
        row = update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(rest_until=until)
        async with self._store.write() as session:
            await session.execute(row)

    async def check(self) -> None:
        """Whether all can be read. Nothing is changed."""
        async with self._store.read() as session:
            for row in await session.scalars(select(ApiKeyRow)):
                self._renewed(row)

    async def renew(self) -> None:
        """Check at start that all can be read, and encrypt with the first key what is older."""
        async with self._store.read() as session:
            rows = (await session.scalars(select(ApiKeyRow))).all()
        old = [row for row in rows if not self._vault.is_current(row.token)]
        fresh = {row.id: self._renewed(row) for row in old}
        if not fresh:
            return
        async with self._store.write() as session:
            for key_id, token in fresh.items():
                await session.execute(
                    update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(token=token)
                )

    def _renewed(self, row: ApiKeyRow) -> str:
        try:
            return self._vault.encrypt(self._vault.decrypt(row.token))
        except StorageError as error:
            raise StorageError(f"{error} (or empty the table api_keys)") from None

    def _record(self, row: ApiKeyRow) -> KeyRecord:
        return KeyRecord(
            server_id=row.server_id,
            provider=row.provider,
            secret=self._vault.decrypt(row.token),
            label=row.label,
            rest_until=row.rest_until,
            id=row.id,
        )
