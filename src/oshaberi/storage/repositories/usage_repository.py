"""Tokens used, per server and model."""

from __future__ import annotations

from sqlalchemy import select

from oshaberi.storage.schema.table_rows import UsageRow as Row
from oshaberi.storage.stored_records import UsageRecord
from oshaberi.storage.transactions import Transactions


class UsageRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def add(
        self, server_id: int, provider: str, model: str, input_tokens: int, output_tokens: int
    ) -> None:
        """One request more."""
        row = self._store.insert(Row).values(
            server_id=server_id,
            provider=provider,
            model=model,
            requests=1,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
        )
        row = row.on_conflict_do_update(
            index_elements=["server_id", "provider", "model"],
            set_={
                "requests": Row.requests + 1,
                "input_tokens": Row.input_tokens + row.excluded.input_tokens,
                "output_tokens": Row.output_tokens + row.excluded.output_tokens,
            },
        )
        async with self._store.write() as session:
            await session.execute(row)

    async def of(self, server_id: int) -> tuple[UsageRecord, ...]:
        rows = select(Row).where(Row.server_id == server_id).order_by(Row.provider, Row.model)
        async with self._store.read() as session:
            found = (await session.scalars(rows)).all()
        return tuple(
            UsageRecord(
                row.server_id,
                row.provider,
                row.model,
                row.requests,
                row.input_tokens,
                row.output_tokens,
            )
            for row in found
        )
