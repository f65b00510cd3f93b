"""What personas need in order to speak first: where they last did, birthdays, and who objects."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, false, or_, select, update

from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import Birthday
from oshaberi.bot.storage.schema.table_rows import (
    BirthdayRow,
    ChannelServerRow,
    ChannelSettingRow,
    OpeningRow,
    ServerSettingRow,
    UnapproachedRow,
)
from oshaberi.bot.storage.transactions import Transactions, count, in_passing


class OpeningRepository:
    """Where and when personas spoke first. They do so again only after a person has written."""

    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def take(self, server_id: int, channel_id: int, newest_id: int) -> bool:
        """Note that a persona is about to speak first. Return False if it may not.

        `newest_id` is the newest message of a person there. Of several processes, one gets True.
        """
        values = {"after_id": newest_id, "at": self._store.now(), "server_id": server_id}
        row = self._store.insert(OpeningRow).values(channel_id=channel_id, **values)
        row = row.on_conflict_do_update(
            index_elements=["channel_id"],
            set_=values,
            where=OpeningRow.after_id < newest_id,
        )
        async with self._store.write() as session:
            return bool(await count(session, row))

    @reads
    async def is_free(self, channel_id: int, newest_id: int) -> bool:
        """Return whether a persona may speak first after this message of a person."""
        async with self._store.read() as session:
            row = await session.get(OpeningRow, channel_id)
            return row is None or row.after_id < newest_id

    @reads
    async def candidates(self, key: str, *, everywhere: bool) -> tuple[int, ...]:
        """Return the channels and categories where a setting may be on.

        They are those where it was set and, in servers where it was set for the whole server (or
        `everywhere`), the channels in which the bot has answered.
        """
        places = select(ChannelSettingRow.channel_id).where(ChannelSettingRow.key == key)
        answered = select(ChannelServerRow.channel_id)
        if not everywhere:
            servers = select(ServerSettingRow.server_id).where(ServerSettingRow.key == key)
            answered = answered.where(ChannelServerRow.server_id.in_(servers))
        async with self._store.read() as session:
            return tuple(await session.scalars(places.union(answered)))

    @reads
    async def last_at(self, channel_id: int) -> datetime | None:
        async with self._store.read() as session:
            row = await session.get(OpeningRow, channel_id)
            return None if row is None else row.at


class BirthdayRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def store(self, birthday: Birthday) -> None:
        """Store a birthday. Whoever changes theirs is not congratulated twice in a year."""
        values = {"month": birthday.month, "day": birthday.day}
        row = self._store.insert(BirthdayRow).values(
            server_id=birthday.server_id, user_id=birthday.user_id, greeted_year=0, **values
        )
        row = row.on_conflict_do_update(index_elements=["server_id", "user_id"], set_=values)
        async with self._store.write() as session:
            await session.execute(row)

    @reads
    async def of(self, server_id: int, user_id: int) -> Birthday | None:
        async with self._store.read() as session:
            row = await session.get(BirthdayRow, (server_id, user_id))
            return None if row is None else Birthday(server_id, user_id, row.month, row.day)

    @writes
    async def forget(self, server_id: int, user_id: int) -> bool:
        theirs = BirthdayRow.server_id == server_id, BirthdayRow.user_id == user_id
        async with self._store.write() as session:
            return bool(await count(session, delete(BirthdayRow).where(*theirs)))

    @reads
    async def on(self, days: Collection[tuple[int, int]]) -> tuple[Birthday, ...]:
        """Return the birthdays on these days, each a month and a day."""
        is_on = or_(
            false(),
            *((BirthdayRow.month == month) & (BirthdayRow.day == day) for month, day in days),
        )
        async with self._store.read() as session:
            rows = await session.scalars(select(BirthdayRow).where(is_on))
            return tuple(
                Birthday(row.server_id, row.user_id, row.month, row.day, row.greeted_year)
                for row in rows
            )

    @writes
    async def take(self, birthday: Birthday, year: int) -> bool:
        """Note that a birthday was noticed this year. Only one of several processes gets True."""
        mine = update(BirthdayRow).where(
            BirthdayRow.server_id == birthday.server_id,
            BirthdayRow.user_id == birthday.user_id,
            BirthdayRow.greeted_year < year,
        )
        async with self._store.write() as session:
            return bool(await count(session, mine.values(greeted_year=year)))


class UnapproachedRepository:
    """Users whom no persona may address first."""

    def __init__(self, store: Transactions) -> None:
        self._store = store

    @writes
    async def add(self, user_id: int) -> None:
        row = self._store.insert(UnapproachedRow).values(user_id=user_id, at=self._store.now())
        async with self._store.write() as session:
            await session.execute(row.on_conflict_do_nothing())

    @writes
    async def remove(self, user_id: int) -> None:
        theirs = delete(UnapproachedRow).where(UnapproachedRow.user_id == user_id)
        async with self._store.write() as session:
            await session.execute(in_passing(theirs))

    @reads
    async def among(self, user_ids: Collection[int]) -> frozenset[int]:
        """Return which of these users no persona may speak to first."""
        theirs = select(UnapproachedRow.user_id).where(UnapproachedRow.user_id.in_(user_ids))
        async with self._store.read() as session:
            return frozenset(await session.scalars(theirs))
