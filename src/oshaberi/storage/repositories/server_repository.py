"""The settings of each server, as its admins changed them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, select

from oshaberi.storage.changes.change_feed import StoredChange
from oshaberi.storage.outages.answer_limits import reads, writes
from oshaberi.storage.schema.table_rows import ServerSettingRow
from oshaberi.storage.transactions import Transactions


class ServerRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def config(self, server_id: int) -> dict[str, Any]:
        rows = select(ServerSettingRow).where(ServerSettingRow.server_id == server_id)
        async with self._store.read() as session:
            return {row.key: row.value for row in await session.scalars(rows)}

    @writes
    async def set_config(self, server_id: int, key: str, value: Any) -> None:
        """Store a setting. `value` is any JSON value."""
        row = self._store.insert(ServerSettingRow).values(server_id=server_id, key=key, value=value)
        row = row.on_conflict_do_update(
            index_elements=["server_id", "key"], set_={"value": row.excluded.value}
        )
        async with self._store.write(StoredChange("settings", server_id)) as session:
            await session.execute(row)

    @writes
    async def reset_config(self, server_id: int, key: str | None = None) -> None:
        """Delete one setting, or all of them."""
        rows = delete(ServerSettingRow).where(ServerSettingRow.server_id == server_id)
        if key is not None:
            rows = rows.where(ServerSettingRow.key == key)
        async with self._store.write(StoredChange("settings", server_id)) as session:
            await session.execute(rows)
