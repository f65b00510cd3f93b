"""Tokens used, per server and model."""

from __future__ import annotations

from sqlalchemy import Executable, func, select

from oshaberi.storage.outages.repository_decorators import reads
from oshaberi.storage.schema.table_rows import UsageRow as Row
from oshaberi.storage.stored_records import UsageRecord
from oshaberi.storage.transactions import Transactions
from oshaberi.storage.write_entries import WriteEntry, WriteStep

MOST_MODELS = 100


class TokenUsageRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        row = store.insert(Row)
        self._add: Executable = row.on_conflict_do_update(
            index_elements=["server_id", "provider", "model"],
            set_={
                "requests": Row.requests + row.excluded.requests,
                "input_tokens": Row.input_tokens + row.excluded.input_tokens,
                "output_tokens": Row.output_tokens + row.excluded.output_tokens,
            },
        )

    async def add(
        self, server_id: int, provider: str, model: str, input_tokens: int, output_tokens: int
    ) -> None:
        """Count one request."""
        step = self.adding(server_id, provider, model, input_tokens, output_tokens)
        await self._store.writer.write_entry(WriteEntry(tallies=(step,)))

    def adding(
        self, server_id: int, provider: str, model: str, input_tokens: int, output_tokens: int
    ) -> WriteStep:
        values = {
            "server_id": server_id,
            "provider": provider,
            "model": model,
            "requests": 1,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        }
        return WriteStep(self._add, values)

    @reads
    async def by_model(self) -> tuple[UsageRecord, ...]:
        """Return the usage of each model in all servers together, the most used model first."""
        counts = (Row.requests, Row.input_tokens, Row.output_tokens)
        sums = [func.sum(column) for column in counts]
        rows = select(Row.provider, Row.model, *sums).group_by(Row.provider, Row.model)
        largest = rows.order_by(sums[0].desc(), Row.provider, Row.model).limit(MOST_MODELS)
        async with self._store.read() as session:
            found = (await session.execute(largest)).all()
        return tuple(
            UsageRecord(0, provider, model, *map(int, used)) for provider, model, *used in found
        )

    @reads
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
