"""The newest message of each channel that was handled: where to go on after a restart."""

from __future__ import annotations

from oshaberi.storage.schema.table_rows import SeenMessageRow
from oshaberi.storage.transactions import Transactions


class SeenRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def last(self, channel_id: int) -> int | None:
        async with self._store.read() as session:
            row = await session.get(SeenMessageRow, channel_id)
            return None if row is None else row.message_id

    async def note(self, channel_id: int, message_id: int) -> None:
        """An older one than is known changes nothing."""
        row = self._store.insert(SeenMessageRow).values(
            channel_id=channel_id, message_id=message_id
        )
        row = row.on_conflict_do_update(
            index_elements=["channel_id"],
            set_={"message_id": row.excluded.message_id},
            where=SeenMessageRow.message_id < row.excluded.message_id,
        )
        async with self._store.write() as session:
            await session.execute(row)
