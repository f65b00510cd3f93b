"""Where the pictures of personas are kept, and how the bot itself looks in each server."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict

from sqlalchemy import delete, select, update

from oshaberi.bot.storage.changes import StoredChange
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import OwnFaceRecord, PictureRecord
from oshaberi.bot.storage.schema.table_rows import OwnFaceRow, PictureRow
from oshaberi.bot.storage.transactions import Transactions

_KEY = ["server_id", "address"]


class PictureRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def of(self, server_id: int) -> tuple[PictureRecord, ...]:
        async with self._store.read() as session:
            found = select(PictureRow).where(PictureRow.server_id == server_id)
            rows = await session.scalars(found.order_by(PictureRow.message_id))
            return tuple(_record(row) for row in rows)

    @reads
    async def by_url(self, url: str) -> PictureRecord | None:
        async with self._store.read() as session:
            found = await session.scalars(select(PictureRow).where(PictureRow.url == url).limit(1))
            row = found.first()
            return None if row is None else _record(row)

    @reads
    async def channels(self) -> frozenset[int]:
        """Return the ids of all channels in which pictures are kept."""
        async with self._store.read() as session:
            return frozenset(await session.scalars(select(PictureRow.channel_id).distinct())) - {0}

    @writes
    async def save(self, record: PictureRecord) -> None:
        values = asdict(record)
        row = self._store.insert(PictureRow).values(values)
        changed = {key: value for key, value in values.items() if key not in _KEY}
        async with self._store.write(StoredChange("personas", record.server_id)) as session:
            await session.execute(row.on_conflict_do_update(index_elements=_KEY, set_=changed))

    @writes
    async def move(self, old: PictureRecord, new: PictureRecord) -> None:
        """Note where a picture is kept now, for all addresses that stand for it."""
        here = (PictureRow.server_id == old.server_id, PictureRow.digest == old.digest)
        async with self._store.write(StoredChange("personas", old.server_id)) as session:
            await session.execute(
                update(PictureRow)
                .where(*here)
                .values(url=new.url, channel_id=new.channel_id, message_id=new.message_id)
            )

    @writes
    async def delete(self, server_id: int, addresses: Collection[str]) -> None:
        gone = (PictureRow.server_id == server_id, PictureRow.address.in_(addresses))
        async with self._store.write(StoredChange("personas", server_id)) as session:
            await session.execute(delete(PictureRow).where(*gone))


def _record(row: PictureRow) -> PictureRecord:
    return PictureRecord(
        server_id=row.server_id,
        address=row.address,
        url=row.url,
        digest=row.digest,
        content_type=row.content_type,
        channel_id=row.channel_id,
        message_id=row.message_id,
        needs_signature=row.needs_signature,
        told_at=row.told_at,
    )


class OwnFaceRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def get(self, server_id: int) -> OwnFaceRecord | None:
        async with self._store.read() as session:
            row = await session.get(OwnFaceRow, server_id)
            if row is None:
                return None
            return OwnFaceRecord(server_id, row.is_shown, row.bio, row.banner, dict(row.applied))

    @reads
    async def servers(self) -> tuple[int, ...]:
        """Return the servers in which the bot looks like a persona, or did."""
        async with self._store.read() as session:
            rows = await session.scalars(select(OwnFaceRow))
            return tuple(row.server_id for row in rows if row.is_shown or row.applied)

    @writes
    async def save(self, record: OwnFaceRecord) -> None:
        values = asdict(record)
        row = self._store.insert(OwnFaceRow).values(values)
        changed = {key: value for key, value in values.items() if key != "server_id"}
        async with self._store.write() as session:
            await session.execute(
                row.on_conflict_do_update(index_elements=["server_id"], set_=changed)
            )
