"""The chain of models of each server."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select

from oshaberi.storage.schema.table_rows import ModelRow
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.storage.transactions import Transactions

EVERYBODY = 0


class ModelRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def chain(self, server_id: int) -> tuple[ModelRecord, ...]:
        """Its own, else everybody's."""
        places = {server_id, EVERYBODY}
        rows = select(ModelRow).where(ModelRow.server_id.in_(places)).order_by(ModelRow.position)
        async with self._store.read() as session:
            found = [_record(row) for row in await session.scalars(rows)]
        own = [record for record in found if record.server_id == server_id]
        return tuple(own or found)

    async def set_chain(self, server_id: int, records: Sequence[ModelRecord]) -> None:
        """Replaces it. Their order counts, not their `position`; with none, everybody's holds."""
        async with self._store.write() as session:
            await self._store.alone(session, f"models {server_id}")
            await session.execute(delete(ModelRow).where(ModelRow.server_id == server_id))
            session.add_all(_row(server_id, n, record) for n, record in enumerate(records))


def _row(server_id: int, position: int, record: ModelRecord) -> ModelRow:
    return ModelRow(
        server_id=server_id,
        position=position,
        provider=record.provider,
        model=record.model,
        base_url=record.base_url,
        params=dict(record.params),
    )


def _record(row: ModelRow) -> ModelRecord:
    return ModelRecord(
        server_id=row.server_id,
        provider=row.provider,
        model=row.model,
        base_url=row.base_url,
        params=row.params,
        position=row.position,
        id=row.id,
    )
