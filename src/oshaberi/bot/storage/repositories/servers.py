"""The settings of servers and channels, and the processes of the bot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Subquery, and_, delete, func, or_, select

from oshaberi.bot.storage.changes import StoredChange
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import StoredSettings
from oshaberi.bot.storage.schema.table_rows import (
    ChannelSettingRow,
    InstanceRow,
    JournalStreamRow,
    ModelRow,
    QuestionRow,
    ServerSettingRow,
)
from oshaberi.bot.storage.transactions import Transactions, count, in_passing

# The settings of a server and of its channels that its admins have changed.


WHOLE_SERVER = 0
"""Stands for the whole server where a channel's id is expected."""


class ServerRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def settings(self, server_id: int) -> StoredSettings:
        """Return the settings of a server and of all its channels."""
        own = select(ServerSettingRow).where(ServerSettingRow.server_id == server_id)
        below = select(ChannelSettingRow).where(ChannelSettingRow.server_id == server_id)
        channels: dict[int, dict[str, Any]] = defaultdict(dict)
        async with self._store.read() as session:
            server = {row.key: row.value for row in await session.scalars(own)}
            for row in await session.scalars(below):
                channels[row.channel_id][row.key] = row.value
        return StoredSettings(server, dict(channels))

    async def config(self, server_id: int, channel_id: int = WHOLE_SERVER) -> dict[str, Any]:
        """Return the changes in exactly one place, without those that it inherits."""
        stored = await self.settings(server_id)
        return dict(stored.channels.get(channel_id, {}) if channel_id else stored.server)

    @writes
    async def set_config(
        self, server_id: int, key: str, value: Any, channel_id: int = WHOLE_SERVER
    ) -> None:
        """Store a setting. `value` is any JSON value."""
        place = {"server_id": server_id, "channel_id": channel_id, "key": key}
        table: type[ServerSettingRow | ChannelSettingRow] = ChannelSettingRow
        if not channel_id:
            del place["channel_id"]
            table = ServerSettingRow
        row = self._store.insert(table).values(**place, value=value)
        row = row.on_conflict_do_update(
            index_elements=list(place), set_={"value": row.excluded.value}
        )
        async with self._store.write(StoredChange("settings", server_id)) as session:
            await session.execute(row)

    @writes
    async def change_config(
        self, server_id: int, values: Mapping[str, Any], inherited: Collection[str]
    ) -> None:
        """Store several settings of a server and delete others, all or none."""
        gone = delete(ServerSettingRow).where(
            ServerSettingRow.server_id == server_id, ServerSettingRow.key.in_(list(inherited))
        )
        async with self._store.write(StoredChange("settings", server_id)) as session:
            await session.execute(gone)
            for key, value in values.items():
                row = self._store.insert(ServerSettingRow).values(
                    server_id=server_id, key=key, value=value
                )
                await session.execute(
                    row.on_conflict_do_update(
                        index_elements=["server_id", "key"], set_={"value": row.excluded.value}
                    )
                )

    @writes
    async def reset_config(
        self, server_id: int, key: str | None = None, channel_id: int = WHOLE_SERVER
    ) -> None:
        """Delete one setting of a server or of a channel, or all of them."""
        table = ChannelSettingRow if channel_id else ServerSettingRow
        rows = delete(table).where(table.server_id == server_id)
        if channel_id:
            rows = rows.where(ChannelSettingRow.channel_id == channel_id)
        if key is not None:
            rows = rows.where(table.key == key)
        async with self._store.write(StoredChange("settings", server_id)) as session:
            await session.execute(rows)

    @writes
    async def forget_channels(self, server_id: int, channel_ids: Collection[int]) -> int:
        """Delete the settings and models of deleted channels. Return the number of rows."""
        if not channel_ids:
            return 0
        settings = and_(
            ChannelSettingRow.server_id == server_id, ChannelSettingRow.channel_id.in_(channel_ids)
        )
        changes = (StoredChange("settings", server_id), StoredChange("models", server_id))
        async with self._store.write(*changes) as session:
            gone = await count(session, delete(ChannelSettingRow).where(settings))
            models = delete(ModelRow).where(_models_in(server_id, channel_ids))
            return gone + await count(session, models)

    @reads
    async def channels_with_own(self) -> dict[int, frozenset[int]]:
        """Return the channels of each server that have settings or models of their own."""
        settings = select(ChannelSettingRow.server_id, ChannelSettingRow.channel_id)
        models = select(ModelRow.owner_id, ModelRow.channel_id).where(
            ModelRow.scope == "server", ModelRow.channel_id != WHOLE_SERVER
        )
        found: dict[int, set[int]] = defaultdict(set)
        async with self._store.read() as session:
            for server_id, channel_id in await session.execute(settings.union(models)):
                found[server_id].add(channel_id)
        return {server_id: frozenset(channels) for server_id, channels in found.items()}


def _models_in(server_id: int, channel_ids: Collection[int]) -> ColumnElement[bool]:
    places = ModelRow.channel_id.in_([one for one in channel_ids if one])
    return and_(ModelRow.scope == "server", ModelRow.owner_id == server_id, places)


# The processes of the bot, by the names that they have in the journal.


KEPT_DAYS = 30


class InstanceRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def beat(self, name: str, leases: Iterable[str] = ()) -> None:
        """Note that this process is running and holds these leases."""
        now = self._store.now()
        words = " ".join(sorted(leases))
        row = self._store.insert(InstanceRow).values(name=name, alive_at=now, leases=words)
        again = {key: row.excluded[key] for key in ("alive_at", "leases")}
        row = row.on_conflict_do_update(index_elements=["name"], set_=again)
        async with self._store.write() as session:
            await session.execute(row)
            long_gone = InstanceRow.alive_at < now - timedelta(KEPT_DAYS)
            await session.execute(in_passing(delete(InstanceRow).where(long_gone)))

    @reads
    async def silent_for(self, silent_for: timedelta) -> tuple[str, ...]:
        """Return processes with open answers or questions that have been silent for this long."""
        edge = self._store.now() - silent_for
        begun = _open_work()
        last = func.max(begun.c.at).label("last")
        left = select(begun.c.instance, last).group_by(begun.c.instance).subquery()
        # A process without a heartbeat may have only just started.
        never = and_(InstanceRow.name.is_(None), left.c.last < edge)
        names = select(left.c.instance).outerjoin(InstanceRow, InstanceRow.name == left.c.instance)
        async with self._store.read() as session:
            found = await session.scalars(names.where(or_(InstanceRow.alive_at < edge, never)))
            return tuple(found)

    @reads
    async def others(self, name: str) -> Mapping[str, frozenset[str]]:
        """Return other processes with open answers or questions, and their leases."""
        begun = _open_work()
        rows = select(InstanceRow.name, InstanceRow.leases).where(
            InstanceRow.name != name, InstanceRow.name.in_(select(begun.c.instance))
        )
        async with self._store.read() as session:
            found = (await session.execute(rows)).all()
        return {other: frozenset(leases.split()) for other, leases in found}


def _open_work() -> Subquery:
    """Return a query of all open answers and questions, with instance and time."""
    answers = select(JournalStreamRow.instance, JournalStreamRow.began.label("at"))
    questions = select(QuestionRow.instance, QuestionRow.at.label("at"))
    return answers.union_all(questions).subquery()
