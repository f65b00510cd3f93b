"""API keys, stored encrypted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, and_, delete, func, select, update

from oshaberi.storage.changes.change_feed import StoredChange
from oshaberi.storage.key_scope import UNOWNED, KeyScope, ScopeKind, key_scope
from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema.table_rows import ApiKeyRow
from oshaberi.storage.secret_vault import SecretVault
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import KeyRecord
from oshaberi.storage.transactions import Transactions, count


class KeyRepository:
    def __init__(self, store: Transactions, vault: SecretVault) -> None:
        self._store = store
        self._vault = vault

    @reads
    async def of(self, server_id: int, provider: str, user_id: int = 0) -> tuple[KeyRecord, ...]:
        """Return the keys of a server, or (`server_id` 0) of a person; oldest first."""
        scope = key_scope(server_id, user_id)
        if not scope.is_somebodys:
            return ()
        rows = select(ApiKeyRow).where(_within(scope), ApiKeyRow.provider == provider)
        async with self._store.read() as session:
            found = await session.scalars(rows.order_by(ApiKeyRow.id))
            return tuple(self._record(row) for row in found)

    @writes
    async def add(self, record: KeyRecord) -> KeyRecord:
        scope = key_scope(record.server_id, record.user_id)
        if not scope.is_somebodys:
            raise StorageError("an API key belongs to a server or to a person: name one")
        row = ApiKeyRow(
            scope=scope.kind,
            owner_id=scope.owner_id,
            provider=record.provider,
            token=self._vault.encrypt(record.secret),
            label=record.label,
            rest_until=record.rest_until,
        )
        async with self._store.write(StoredChange("keys", scope.name)) as session:
            session.add(row)
            await session.flush()
        return replace(record, id=row.id)

    @writes
    async def remove(self, server_id: int, key_id: int, user_id: int = 0) -> bool:
        scope = key_scope(server_id, user_id)
        rows = delete(ApiKeyRow).where(_within(scope), ApiKeyRow.id == key_id)
        async with self._store.write(StoredChange("keys", scope.name)) as session:
            return await count(session, rows) > 0

    @reads
    async def unowned(self) -> int:
        """Count the keys that older versions stored in direct messages without an owner."""
        rows = select(func.count()).select_from(ApiKeyRow).where(_within(UNOWNED))
        async with self._store.read() as session:
            return await session.scalar(rows) or 0

    @writes
    async def adopt(self, user_id: int) -> int:
        """Give the unowned keys to this person. Return their number."""
        rows = update(ApiKeyRow).where(_within(UNOWNED)).values(owner_id=user_id)
        change = StoredChange("keys", key_scope(0, user_id).name)
        async with self._store.write(change) as session:
            return await count(session, rows)

    @writes
    async def rest(self, key_id: int, until: datetime) -> None:
        """Store a cooldown, and tell the caches of the key's owner."""
        row = update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(rest_until=until)
        owner = row.returning(ApiKeyRow.scope, ApiKeyRow.owner_id)
        async with self._store.write() as session:
            found = (await session.execute(owner)).one_or_none()
        if found is not None:
            scope = KeyScope(cast(ScopeKind, found.scope), found.owner_id)
            await self._store.tell(StoredChange("keys", scope.name))

    async def check(self) -> None:
        """Raise if a key cannot be decrypted. Changes nothing."""
        async with self._store.read() as session:
            for row in await session.scalars(select(ApiKeyRow)):
                self._renewed(row)

    async def renew(self) -> None:
        """Check that all keys can be decrypted; encrypt older ones again with the first key."""
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
        scope = KeyScope(cast(ScopeKind, row.scope), row.owner_id)
        return KeyRecord(
            server_id=scope.server_id,
            user_id=scope.user_id,
            provider=row.provider,
            secret=self._vault.decrypt(row.token),
            label=row.label,
            rest_until=row.rest_until,
            id=row.id,
        )


def _within(scope: KeyScope) -> ColumnElement[bool]:
    return and_(ApiKeyRow.scope == scope.kind, ApiKeyRow.owner_id == scope.owner_id)
