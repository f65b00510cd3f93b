"""The model chains: of servers, of their channels, and of people in direct messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import ColumnElement, and_, delete, func, select, update

from oshaberi.storage.changes.change_feed import StoredChange
from oshaberi.storage.key_scope import UNOWNED, KeyScope, ScopeKind, key_scope
from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema.table_rows import ModelRow
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.storage.transactions import Transactions, count

Chain = tuple[ModelRecord, ...]


class ModelRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def chains(self, server_id: int, user_id: int = 0) -> dict[int, Chain]:
        """Return the chains of a server by channel, or (`server_id` 0) of a person.

        Channel 0 has the chain of the whole server.
        """
        scope = key_scope(server_id, user_id)
        if not scope.is_somebodys:
            return {}
        rows = select(ModelRow).where(_within(scope)).order_by(ModelRow.position)
        found: dict[int, Chain] = {}
        async with self._store.read() as session:
            for row in await session.scalars(rows):
                found[row.channel_id] = (*found.get(row.channel_id, ()), _record(row))
        return found

    async def chain(self, server_id: int, user_id: int = 0, channel_id: int = 0) -> Chain:
        """Return one chain: of the whole server, of one channel, or of a person."""
        return (await self.chains(server_id, user_id)).get(channel_id, ())

    @writes
    async def set_chain(
        self,
        server_id: int,
        records: Sequence[ModelRecord],
        user_id: int = 0,
        channel_id: int = 0,
    ) -> None:
        """Replace the chain. The order of the models counts, not their `position`."""
        scope = key_scope(server_id, user_id)
        if not scope.is_somebodys:
            raise StorageError("a chain of models belongs to a server or to a person: name one")
        async with self._store.write(StoredChange("models", scope.name)) as session:
            await self._store.alone(session, f"models {scope.kind} {scope.owner_id}")
            here = and_(_within(scope), ModelRow.channel_id == channel_id)
            await session.execute(delete(ModelRow).where(here))
            session.add_all(_row(scope, channel_id, n, one) for n, one in enumerate(records))

    @reads
    async def unowned(self) -> int:
        """Count the models that older versions stored in DMs without an owner."""
        rows = select(func.count()).select_from(ModelRow).where(_within(UNOWNED))
        async with self._store.read() as session:
            return await session.scalar(rows) or 0

    @writes
    async def adopt(self, user_id: int) -> int:
        """Give the unowned models to this person, if they have none. Return their number."""
        scope = KeyScope("direct", user_id)
        own = select(func.count()).select_from(ModelRow).where(_within(scope))
        async with self._store.write(StoredChange("models", scope.name)) as session:
            await self._store.alone(session, f"models {scope.kind} {user_id}")
            if await session.scalar(own):
                return 0
            return await count(
                session, update(ModelRow).where(_within(UNOWNED)).values(owner_id=user_id)
            )


def _within(scope: KeyScope) -> ColumnElement[bool]:
    return and_(ModelRow.scope == scope.kind, ModelRow.owner_id == scope.owner_id)


def _row(scope: KeyScope, channel_id: int, position: int, record: ModelRecord) -> ModelRow:
    return ModelRow(
        scope=scope.kind,
        owner_id=scope.owner_id,
        channel_id=channel_id,
        position=position,
        provider=record.provider,
        model=record.model,
        base_url=record.base_url,
        params=dict(record.params),
    )


def _record(row: ModelRow) -> ModelRecord:
    scope = KeyScope(cast(ScopeKind, row.scope), row.owner_id)
    return ModelRecord(
        server_id=scope.server_id,
        user_id=scope.user_id,
        provider=row.provider,
        model=row.model,
        base_url=row.base_url,
        params=row.params,
        position=row.position,
        id=row.id,
    )
