"""What somebody asks to be scheduled becomes a record, or is refused with words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.schedules.planning import (
    FoundZone,
    found_zone,
    limits_of,
    next_times,
    planned,
    resumed_at,
    stored,
)
from oshaberi.bot.schedules.schedule_rules import LONGEST_TEXT, ScheduleRefusedError
from oshaberi.bot.schedules.zones import ZoneError
from oshaberi.bot.storage.records import ScheduleRecord
from oshaberi.errors import OshaberiError

NOW = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)  # a Thursday
LIMITS = limits_of(TurnConfig())


def wanted(text: str = "tea", kind: str = "reminder") -> ScheduleRecord:
    return ScheduleRecord(1, 2, 3, kind, text, None)


def plan(when: str, zone: str | None = None, **more: Any) -> ScheduleRecord:
    return planned(wanted(**more), when, NOW, zone, LIMITS)


def test_a_time_is_by_the_clocks_of_its_author() -> None:
    made = plan("tomorrow at 9", "Asia/Tokyo", text="  tea ")
    assert made.next_at == datetime(2026, 11, 20, 0, 0, tzinfo=UTC)
    assert (made.text, made.zone, made.rule, made.at) == ("tea", "Asia/Tokyo", None, NOW)


@pytest.mark.parametrize("when", ["in 20 minutes", "in 3 days", "<t:1800000000>", "every 2 hours"])
def test_what_is_the_same_everywhere_needs_no_zone(when: str) -> None:
    made = plan(when)
    assert made.next_at == plan(when, "Asia/Tokyo").next_at
    assert made.zone == "UTC"


@pytest.mark.parametrize(
    "when",
    ["tomorrow at 9", "noon", "every day", "in 3 days at 9", "0 * * * *", "*/15 * * * 1-5"],
)
def test_without_a_zone_nothing_is_guessed(when: str) -> None:
    with pytest.raises(ScheduleRefusedError, match="/timezone"):
        plan(when)


def test_what_is_no_time_is_said_so_first() -> None:
    with pytest.raises(OshaberiError, match="I do not understand that time"):
        plan("when pigs fly")


@pytest.mark.parametrize(
    ("when", "more", "words"),
    [
        ("in 1 hour", {"text": " \n "}, "nothing to be reminded of"),
        ("in 1 hour", {"text": "x" * (LONGEST_TEXT + 1)}, "too long"),
        ("in 1 hour", {"kind": "task"}, "schedule_tasks_enabled"),
        ("in 6 years", {}, "too far away"),
        ("every 59 minutes", {}, "too often"),
    ],
)
def test_the_rules_hold(when: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ScheduleRefusedError, match=words):
        plan(when, **more)


def test_limits_have_words() -> None:
    with pytest.raises(ScheduleRefusedError, match="You have 10 reminders"):
        stored("user", LIMITS)
    with pytest.raises(ScheduleRefusedError, match="schedules_per_server"):
        stored("server", LIMITS)


def test_when_it_comes_next() -> None:
    made = plan("every monday at 9", "Europe/Berlin")
    first = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
    assert next_times(made, 3) == tuple(first + timedelta(weeks=n) for n in range(3))
    assert next_times(plan("in 1 hour"), 3) == (NOW + timedelta(hours=1),)


def test_a_paused_schedule_goes_on_with_its_next_time() -> None:
    weekly = plan("every monday at 9", "Europe/Berlin")
    later = NOW + timedelta(days=30)
    again = resumed_at(weekly, later)
    assert again is not None
    assert again > later
    assert again.weekday() == 0
    assert resumed_at(plan("in 1 hour"), NOW) == NOW + timedelta(hours=1)
    assert resumed_at(plan("in 1 hour"), later) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("UTC+2", "UTC+02:00"),
        ("it is 9 pm for me", "UTC+09:00"),
        ("21:02", "UTC+09:00"),
        ("it's 07:00 here", "UTC-05:00"),
        ("9 in the evening", "UTC+09:00"),
        ("午後9時", "UTC+09:00"),
    ],
)
def test_a_zone_by_its_name_or_by_a_clock(text: str, name: str) -> None:
    assert found_zone(text, NOW).name == name


def test_a_clock_names_places_for_the_summer_time() -> None:
    assert found_zone("13:00", NOW) == FoundZone(
        "UTC+01:00",
        ("Europe/Berlin", "Europe/Paris", "Europe/Madrid", "Africa/Lagos", "Africa/Algiers"),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("9", "in the morning or in the evening"),
        ("it is 9 for me", "in the morning or in the evening"),
        ("12:23 pm", "not that time anywhere"),
        ("25:00", "There is no time zone"),
        ("tomorrow", "There is no time zone"),
    ],
)
def test_what_does_not_say_it(text: str, words: str) -> None:
    with pytest.raises(ZoneError, match=words):
        found_zone(text, NOW)
