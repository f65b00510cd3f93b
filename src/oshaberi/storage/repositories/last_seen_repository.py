"""The newest handled message of each channel: where to continue after a restart."""

from __future__ import annotations

from sqlalchemy import Executable

from oshaberi.storage.outages.repository_decorators import reads
from oshaberi.storage.schema.table_rows import SeenMessageRow
from oshaberi.storage.transactions import Transactions
from oshaberi.storage.write_entries import WriteStep


class LastSeenRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        row = store.insert(SeenMessageRow)
        self._note: Executable = row.on_conflict_do_update(
            index_elements=["channel_id"],
            set_={"message_id": row.excluded.message_id},
            where=SeenMessageRow.message_id < row.excluded.message_id,
        )

    @reads
    async def last(self, channel_id: int) -> int | None:
        async with self._store.read() as session:
            row = await session.get(SeenMessageRow, channel_id)
            return None if row is None else row.message_id

    async def note(self, channel_id: int, message_id: int) -> None:
        """Store the newest message. An older one than the stored one changes nothing."""
        values = {"channel_id": channel_id, "message_id": message_id}
        step = WriteStep(self._note, values, ("seen", channel_id))
        await self._store.writer.write(step, repeatable=True)
