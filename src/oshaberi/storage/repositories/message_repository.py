"""Stores facts about the bot's messages: their sprite, and the source of a table's picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Executable, bindparam, delete, select

from oshaberi.storage.outages.repository_decorators import reads
from oshaberi.storage.schema.table_rows import SpriteMessageRow, TableSourceRow
from oshaberi.storage.transactions import Transactions, beyond_newest, in_passing
from oshaberi.storage.write_entries import WriteEntry, WriteStep

KEPT_PER_CHANNEL = 1000
"""No turn looks back further in a channel."""
KEPT_DAYS = 180
"""The most that `retention_turns_days` can be."""

MessageRow = type[SpriteMessageRow | TableSourceRow]


class _MessageNotes:
    """Statements for one of the two tables; `words` are its text columns."""

    def __init__(self, store: Transactions, model: MessageRow, *words: str) -> None:
        self._store = store
        self._grown: set[int] = set()
        row = store.insert(model)
        self._add: Executable = row.on_conflict_do_update(
            index_elements=["message_id"], set_={name: row.excluded[name] for name in words}
        )
        self._beyond_newest = beyond_newest(model.message_id, model.channel_id)
        self._old = in_passing(delete(model).where(model.at < bindparam("edge")))

    def adding(self, channel_id: int, notes: Mapping[int, Mapping[str, Any]]) -> WriteEntry:
        """Return the entry that stores `notes`: the texts by message."""
        self._grown.add(channel_id)
        common = {"channel_id": channel_id, "at": self._store.now()}
        steps = (
            WriteStep(self._add, {"message_id": message_id, **common, **words})
            for message_id, words in notes.items()
        )
        return WriteEntry(tuple(steps), repeatable=True)

    def pruning(self) -> WriteEntry:
        grown, self._grown = self._grown, set()
        values = {"last_kept": KEPT_PER_CHANNEL - 1}
        steps = [WriteStep(self._beyond_newest, {"its_channel": one, **values}) for one in grown]
        old = WriteStep(self._old, {"edge": self._store.now() - timedelta(days=KEPT_DAYS)})
        return WriteEntry((*steps, old), repeatable=True)


class SpriteMessageRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._notes = _MessageNotes(store, SpriteMessageRow, "persona", "sprite")
        self.pruning = self._notes.pruning

    async def remember(self, message_id: int, channel_id: int, persona: str, sprite: str) -> None:
        entry = self.adding(channel_id, {message_id: (persona, sprite)})
        await self._store.writer.write_entry(entry)

    def adding(self, channel_id: int, labels: Mapping[int, tuple[str, str]]) -> WriteEntry:
        """Return the entry that stores `labels`: persona and sprite by message."""
        notes = {key: {"persona": one, "sprite": two} for key, (one, two) in labels.items()}
        return self._notes.adding(channel_id, notes)

    @reads
    async def labels(self, message_ids: Collection[int]) -> dict[int, tuple[str, str]]:
        """Return persona and sprite of the messages that had a sprite."""
        rows = select(SpriteMessageRow).where(SpriteMessageRow.message_id.in_(message_ids))
        async with self._store.read() as session:
            found = await session.scalars(rows)
            return {row.message_id: (row.persona, row.sprite) for row in found}


class TableSourceRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._notes = _MessageNotes(store, TableSourceRow, "source")
        self.pruning = self._notes.pruning

    async def remember(self, message_id: int, channel_id: int, source: str) -> None:
        await self._store.writer.write_entry(self.adding(channel_id, {message_id: source}))

    def adding(self, channel_id: int, sources: Mapping[int, str]) -> WriteEntry:
        """Return the entry that stores `sources`: the table by message."""
        notes = {message_id: {"source": source} for message_id, source in sources.items()}
        return self._notes.adding(channel_id, notes)

    @reads
    async def sources(self, message_ids: Collection[int]) -> dict[int, str]:
        rows = select(TableSourceRow).where(TableSourceRow.message_id.in_(message_ids))
        async with self._store.read() as session:
            return {row.message_id: row.source for row in await session.scalars(rows)}
