"""Servers that the bot has left: since when, and which channels they had."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, literal, select, union

from oshaberi.storage.schema.table_rows import (
    ApiKeyRow,
    ChannelServerRow,
    ChannelSettingRow,
    DepartedServerRow,
    FactRow,
    ModelRow,
    PersonaRow,
    ServerSettingRow,
    TurnRow,
    UsageRow,
)
from oshaberi.storage.transactions import Transactions, in_passing

_BY_SERVER = (ServerSettingRow, ChannelSettingRow, PersonaRow, FactRow, TurnRow, UsageRow)
_BY_OWNER = (ModelRow, ApiKeyRow)


class DepartedServerRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def note(self, server_id: int, channel_ids: Collection[int] = ()) -> None:
        """Note that the bot left a server. If it is noted already, the first time counts."""
        row = self._store.insert(DepartedServerRow).values(
            server_id=server_id, left_at=self._store.now()
        )
        async with self._store.write() as session:
            await session.execute(row.on_conflict_do_nothing())
            if channel_ids:
                places = [{"channel_id": one, "server_id": server_id} for one in channel_ids]
                noted = self._store.insert(ChannelServerRow).on_conflict_do_nothing()
                await session.execute(noted, places)

    async def returned_to(self, server_ids: Collection[int]) -> None:
        """Note that the bot is in these servers, so that their data stays."""
        here = DepartedServerRow.server_id.in_(server_ids)
        async with self._store.write() as session:
            await session.execute(in_passing(delete(DepartedServerRow).where(here)))

    async def departed(self, before: datetime | None = None) -> tuple[int, ...]:
        """Return the servers that the bot has left; with `before`, those that it left by then."""
        found = select(DepartedServerRow.server_id)
        if before is not None:
            found = found.where(DepartedServerRow.left_at <= before)
        async with self._store.read() as session:
            return tuple(await session.scalars(found.order_by(DepartedServerRow.server_id)))

    async def known_servers(self) -> frozenset[int]:
        """Return every server with stored data."""
        by_server = [select(row.server_id) for row in _BY_SERVER]
        by_owner = [select(row.owner_id).where(row.scope == "server") for row in _BY_OWNER]
        async with self._store.read() as session:
            return frozenset(await session.scalars(union(*by_server, *by_owner))) - {0}

    async def note_channels(self) -> None:
        """Store which server the channel of each turn belongs to, because turns expire earlier."""
        used = select(TurnRow.channel_id, TurnRow.server_id).where(TurnRow.server_id != literal(0))
        row = self._store.insert(ChannelServerRow).from_select(
            ["channel_id", "server_id"], used.distinct()
        )
        async with self._store.write() as session:
            await session.execute(row.on_conflict_do_nothing())
