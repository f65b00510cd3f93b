"""A year of schedules with a real database: each time is taken exactly once."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from oshaberi.bot.client.turn_channel import Participant
from oshaberi.bot.conversation.messages import ChannelPath, Person
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.initiative.due_schedules import DueSchedules
from oshaberi.bot.schedules.planning import limits_of, planned
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import ScheduleRecord, ShardShare
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.delivery.config import StreamConfig
from tests.storage.migrated_database import place_database

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2027, 12, 31, 12, 0, tzinfo=UTC)  # 2028 has a leap day
END = datetime(2028, 12, 31, 12, 0, tzinfo=UTC)
LIMITS = limits_of(TurnConfig(schedules_per_user=100))
REN = Person(3, "Ren")
RULES = (
    "every day at 2:30",  # skipped by the clocks once, shown twice once
    "every month on the 31st at 9",
    "every year on 29 feb at 9",
    "every monday and friday at 17:30",
    "every 2 weeks on sunday at 2:30",
    "0 9 L * *",
    "0 8 * * mon#1",
)


class Place:
    """A channel in which everybody may write."""

    server_id, may_write, locale = 1, True, "en"
    path = ChannelPath(1, 2)

    async def participant(self, _user_id: int) -> Participant:
        return Participant(REN, may_see=True, may_write=True)

    async def person(self, _user_id: int) -> Person:
        return REN


class Heard:
    """Stands for the turns: notes what begins."""

    is_closing = False

    def __init__(self) -> None:
        self.occasions: list[Occasion] = []

    async def begin(self, occasion: Occasion, _place: Any, *, is_stored: bool = False) -> str:
        assert is_stored
        self.occasions.append(occasion)
        return "schedule"


class Now:
    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


def watcher(db: Database, name: str, heard: Heard, now: Now) -> DueSchedules:
    async def find(_channel_id: int) -> Any:
        return Place()

    async def settings(_path: ChannelPath) -> EffectiveSettings:
        return EffectiveSettings(StreamConfig(), TurnConfig())

    turns: Any = heard
    return DueSchedules(db, name, turns, find, lambda: ShardShare(), settings, now)


async def fill(db: Database, *rules: str) -> dict[str, int]:
    numbers = {}
    for rule in rules:
        wanted = ScheduleRecord(1, 2, 3, "reminder", rule, None)
        record = planned(wanted, rule, START, "Europe/Berlin", LIMITS)
        added = await db.schedules.add(record, 100, 1000)
        assert isinstance(added, ScheduleRecord)
        numbers[rule] = added.id
    return numbers


def local_days(heard: Heard, number: int) -> list[datetime]:
    return [one.at.astimezone(BERLIN) for one in heard.occasions if one.why == f"schedule {number}"]


def test_a_year_happens_exactly_as_often_as_it_should(tmp_path: Path) -> None:
    place_database(tmp_path / "year.db")
    url = f"sqlite:///{tmp_path / 'year.db'}"

    async def main() -> tuple[Heard, dict[str, int]]:
        heard, now = Heard(), Now(START)
        async with (
            Database.open(url, SecretVault([SecretVault.new_key()])) as db,
            Database.open(url, SecretVault([SecretVault.new_key()])) as other,
        ):
            numbers = await fill(db, *RULES)
            watchers = [watcher(db, "one", heard, now), watcher(other, "two", heard, now)]
            turn = 0
            while True:
                following = await db.schedules.next_due()
                if following is None or following > END:
                    break
                now.at = following
                # Mostly one process sees it; now and then both at the same moment.
                both = turn % 50 == 0
                await asyncio.gather(*(one.look() for one in watchers[turn % 2 :][: 1 + both]))
                turn += 1
        return heard, numbers

    heard, numbers = asyncio.run(main())
    counts = Counter(one.id for one in heard.occasions)
    assert set(counts.values()) == {1}
    daily = local_days(heard, numbers["every day at 2:30"])
    assert [at.date() for at in daily] == [date(2028, 1, 1) + timedelta(n) for n in range(366)]
    odd = [at for at in daily if (at.hour, at.minute) != (2, 30)]
    assert [(at.date(), at.hour) for at in odd] == [(date(2028, 3, 26), 3)]
    monthly = local_days(heard, numbers["every month on the 31st at 9"])
    assert [at.day for at in monthly] == [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    last = local_days(heard, numbers["0 9 L * *"])
    assert [at.date() for at in last] == [at.date() for at in monthly]
    (leap,) = local_days(heard, numbers["every year on 29 feb at 9"])
    assert leap.date() == date(2028, 2, 29)
    weekly = local_days(heard, numbers["every monday and friday at 17:30"])
    assert len(weekly) == 105
    assert {at.isoweekday() for at in weekly} == {1, 5}
    second = local_days(heard, numbers["every 2 weeks on sunday at 2:30"])
    assert {(b.date() - a.date()).days for a, b in pairwise(second)} == {14}
    firsts = local_days(heard, numbers["0 8 * * mon#1"])
    assert [(at.isoweekday(), (at.day + 6) // 7) for at in firsts] == [(1, 1)] * 12
