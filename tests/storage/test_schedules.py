"""Schedules in the database: limits, whose they are, and that one process takes each time once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import Birthday, ScheduleRecord, StoredQuestion
from oshaberi.bot.storage.schema.ownership import DataSubject

from .scenario_database import NOON, with_database

SOON = NOON + timedelta(minutes=5)
MILK = ScheduleRecord(1, 2, 3, "reminder", "milk", SOON, zone="Europe/Berlin", at=NOON)
QUESTION = StoredQuestion(2, 100, 1, 3, "main", "schedule 1", NOON)


async def added(db: Database, record: ScheduleRecord = MILK) -> ScheduleRecord:
    stored = await db.schedules.add(record, 10, 100)
    assert isinstance(stored, ScheduleRecord)
    return stored


def test_it_is_stored_and_listed_where_it_belongs(url: str) -> None:
    async def keep(db: Database) -> None:
        rule = {"unit": "day", "every": 1}
        assert (await added(db)).id
        await added(db, replace(MILK, user_id=4, next_at=NOON + timedelta(days=1), rule=rule))
        await added(db, replace(MILK, server_id=9))

    async def look(db: Database) -> None:
        here = await db.schedules.of_server(1)
        assert [one.user_id for one in here] == [3, 4]
        assert here[1].rule == {"unit": "day", "every": 1}
        assert here[0] == replace(MILK, id=here[0].id)
        assert [one.server_id for one in await db.schedules.of_user(3)] == [1, 9]
        assert await db.schedules.next_due() == SOON
        assert await db.schedules.due(NOON, 10) == ()
        assert len(await db.schedules.due(SOON, 10)) == 2
        assert len(await db.schedules.due(SOON, 1)) == 1
        assert await db.schedules.delete(here[0].id)
        assert not await db.schedules.delete(here[0].id)
        assert await db.schedules.get(here[0].id) is None

    with_database(url, keep)
    with_database(url, look)


def test_there_are_limits_for_a_user_and_for_a_server(url: str) -> None:
    async def run(db: Database) -> None:
        adding = [db.schedules.add(MILK, 2, 3) for _ in range(5)]
        done = await asyncio.gather(*adding)
        assert sorted(one for one in done if isinstance(one, str)) == ["user"] * 3
        assert isinstance(await db.schedules.add(replace(MILK, user_id=4), 2, 3), ScheduleRecord)
        assert await db.schedules.add(replace(MILK, user_id=5), 2, 3) == "server"
        direct = replace(MILK, server_id=0)
        for user in range(10, 15):
            assert isinstance(await added(db, replace(direct, user_id=user)), ScheduleRecord)
        assert isinstance(
            await db.schedules.add(replace(direct, user_id=5), 2, 3), ScheduleRecord
        ), "the direct messages of one person are nothing to another"

    with_database(url, run)


def test_each_time_is_taken_once_with_its_question(url: str) -> None:
    async def run(db: Database) -> None:
        record = await added(db)
        following = NOON + timedelta(days=1)
        question = replace(QUESTION, why=f"schedule {record.id}")
        taking = [db.schedules.take(record, following, question) for _ in range(6)]
        assert sorted(await asyncio.gather(*taking)) == [False] * 5 + [True]
        assert await db.questions.open_in(2) == {100}
        again = await db.schedules.get(record.id)
        assert again is not None
        assert again.next_at == following
        assert await db.schedules.take(again, None, None), "left out: no question"
        assert await db.questions.open_in(2) == {100}
        assert await db.schedules.of_user(3) == (), "it has no further time"
        await db.schedules.forget_ended()
        assert await db.schedules.get(record.id) is not None, "its last one is being done"
        await db.questions.settle(2, [100])
        assert await db.schedules.forget_ended() == 1

    with_database(url, run)


def test_a_paused_one_is_not_due(url: str) -> None:
    async def run(db: Database) -> None:
        record = await added(db)
        assert await db.schedules.change(record.id, is_paused=True, next_at=SOON, problem="why")
        assert await db.schedules.due(SOON, 10) == ()
        assert await db.schedules.next_due() is None
        assert not await db.schedules.take(record, None, QUESTION)
        (listed,) = await db.schedules.of_user(3)
        assert (listed.is_paused, listed.problem) == (True, "why")
        assert await db.schedules.change(record.id, is_paused=False, next_at=SOON)
        assert len(await db.schedules.due(SOON, 10)) == 1
        assert await db.schedules.pause_in(2, "gone") == 1
        assert await db.schedules.due(SOON, 10) == ()
        assert not await db.schedules.change(999, is_paused=False, next_at=SOON)

    with_database(url, run)


def test_deleting_it_withdraws_what_is_due(url: str) -> None:
    async def run(db: Database) -> None:
        record = await added(db)
        await db.schedules.take(record, None, replace(QUESTION, why=f"schedule {record.id}"))
        assert await db.schedules.delete(record.id)
        assert await db.questions.open_in(2) == frozenset()

    with_database(url, run)


def test_a_persona_speaks_first_only_after_a_newer_message(url: str) -> None:
    async def run(db: Database) -> None:
        taking = [db.openings.take(1, 2, 50) for _ in range(4)]
        assert sorted(await asyncio.gather(*taking)) == [False, False, False, True]
        assert not await db.openings.take(1, 2, 49)
        assert await db.openings.take(1, 2, 51)
        assert await db.openings.last_at(2) == NOON
        assert await db.openings.last_at(3) is None

    with_database(url, run)


def test_birthdays_are_noticed_once_a_year(url: str) -> None:
    async def run(db: Database) -> None:
        await db.birthdays.store(Birthday(1, 3, 2, 29))
        await db.birthdays.store(Birthday(1, 3, 11, 19))
        await db.birthdays.store(Birthday(1, 4, 11, 18))
        assert await db.birthdays.on([]) == ()
        (found,) = await db.birthdays.on([(11, 19), (2, 29)])
        assert (found.user_id, found.greeted_year) == (3, 0)
        assert await db.birthdays.take(found, 2026)
        assert not await db.birthdays.take(found, 2026)
        assert await db.birthdays.take(found, 2027)
        assert await db.birthdays.forget(1, 3)
        assert not await db.birthdays.forget(1, 3)

    with_database(url, run)


def test_it_is_known_who_is_not_approached_and_where_people_live(url: str) -> None:
    async def run(db: Database) -> None:
        await db.unapproached.add(3)
        await db.unapproached.add(3)
        assert await db.unapproached.among([3, 4]) == {3}
        await db.unapproached.remove(3)
        assert await db.unapproached.among([3, 4]) == frozenset()
        assert await db.time_zones.of(3) is None
        await db.time_zones.store(3, "Asia/Tokyo")
        await db.time_zones.store(3, "Europe/Berlin")
        assert await db.time_zones.of(3) == "Europe/Berlin"
        assert await db.time_zones.forget(3)

    with_database(url, run)


def test_a_user_gets_and_deletes_all_of_it(url: str) -> None:
    async def run(db: Database) -> None:
        await added(db)
        await db.time_zones.store(3, "Asia/Tokyo")
        await db.birthdays.store(Birthday(1, 3, 2, 29))
        await db.unapproached.add(3)
        me = DataSubject("user", 3)
        exported = await db.personal_data.export(me)
        assert exported["schedules"][0]["text"] == "milk"
        assert {"time_zones", "birthdays", "unapproached"} <= set(exported)
        await db.personal_data.delete(me)
        assert set(await db.personal_data.export(me)) == {"unapproached"}, "a choice stays"

    with_database(url, run)
