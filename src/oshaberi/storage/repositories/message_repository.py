"""What is stored about our messages: their sprite, and the source of a table's picture."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select

from oshaberi.storage.schema.table_rows import SpriteMessageRow, TableSourceRow
from oshaberi.storage.transactions import Transactions, beyond_newest

KEPT_PER_CHANNEL = 1000
"""No turn looks further back in a channel than that."""
KEPT_DAYS = 180


class SpriteMessageRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def remember(self, message_id: int, channel_id: int, persona: str, sprite: str) -> None:
        words = {"persona": persona, "sprite": sprite}
        await _remember(self._store, SpriteMessageRow, message_id, channel_id, words)

    async def labels(self, message_ids: Collection[int]) -> dict[int, tuple[str, str]]:
        """Persona and sprite of those that wore one."""
        rows = select(SpriteMessageRow).where(SpriteMessageRow.message_id.in_(message_ids))
        async with self._store.read() as session:
            found = await session.scalars(rows)
            return {row.message_id: (row.persona, row.sprite) for row in found}


class TableSourceRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def remember(self, message_id: int, channel_id: int, source: str) -> None:
        await _remember(self._store, TableSourceRow, message_id, channel_id, {"source": source})

    async def sources(self, message_ids: Collection[int]) -> dict[int, str]:
        rows = select(TableSourceRow).where(TableSourceRow.message_id.in_(message_ids))
        async with self._store.read() as session:
            return {row.message_id: row.source for row in await session.scalars(rows)}


async def _remember(
    store: Transactions,
    model: type[SpriteMessageRow | TableSourceRow],
    message_id: int,
    channel_id: int,
    words: dict[str, Any],
) -> None:
    now = store.now()
    row = store.insert(model).values(message_id=message_id, channel_id=channel_id, at=now, **words)
    row = row.on_conflict_do_update(
        index_elements=["message_id"], set_={name: row.excluded[name] for name in words}
    )
    async with store.write() as session:
        await session.execute(row)
        await session.execute(
            beyond_newest(model.message_id, model.channel_id, channel_id, KEPT_PER_CHANNEL)
        )
        await session.execute(delete(model).where(model.at < now - timedelta(days=KEPT_DAYS)))
