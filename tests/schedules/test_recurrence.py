"""A year of recurring schedules, with changes of the clocks and leap days."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from oshaberi.bot.schedules.recurrence import Recurrence
from oshaberi.bot.schedules.written_times import written_time
from oshaberi.bot.schedules.zones import as_local

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
NEW_YEAR = datetime(2026, 12, 31, 23, 0, tzinfo=UTC)  # midnight in Berlin


def a_year(text: str, zone: tzinfo = BERLIN, days: int = 365) -> list[datetime]:
    """What clocks there show at each of its times in 2027."""
    rule = written_time(text, NEW_YEAR, zone).rule
    assert rule is not None
    end = NEW_YEAR + timedelta(days=days)
    found = []
    at = rule.next_after(NEW_YEAR, zone)
    while at is not None and at < end:
        found.append(at)
        at = rule.next_after(at, zone)
    assert found == sorted(set(found)), "each once, in order"
    return [as_local(one, zone) for one in found]


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("every day at 9", 365),
        ("every day at 2:30", 365),
        ("every weekday at 8:15", 261),
        ("every monday and thursday at 17:30", 104),
        ("every 2 weeks on friday at 9", 27),
        ("every month on the 31st at 9", 12),
        ("every 3 months on the 1st", 4),
        ("every year on 24 dec", 1),
        ("every 36 hours", 243),
        ("every hour", 8759),
        ("0 9 * * 1", 52),
        ("30 2 * * *", 365),
        ("30 * * * *", 8760),
        ("0 0 1 * *", 11),
        ("0 9 l * *", 12),
        ("0 9 * * 1#1", 12),
        ("0 9 13 * 5", 64),
    ],
)
def test_each_happens_exactly_as_often_as_it_should_in_a_year(text: str, times: int) -> None:
    began = time.process_time()
    assert len(a_year(text)) == times
    assert time.process_time() - began < 5


def test_nine_stays_nine_when_clocks_change() -> None:
    assert {one.time().isoformat() for one in a_year("every day at 9")} == {"09:00:00"}
    assert {one.time().isoformat() for one in a_year("0 9 * * *", NEW_YORK)} == {"09:00:00"}


def test_a_time_that_clocks_skip_is_an_hour_later_and_one_that_they_repeat_happens_once() -> None:
    """Clocks in Berlin go forward on 28 March 2027, and back on 31 October."""
    for text in ("every day at 2:30", "30 2 * * *"):
        shown = a_year(text)
        odd = [one for one in shown if one.hour != 2]
        assert odd == [datetime(2027, 3, 28, 3, 30)]
        assert [one for one in shown if one.date() == datetime(2027, 10, 31).date()] == [
            datetime(2027, 10, 31, 2, 30)
        ]


def test_two_times_that_a_gap_makes_one_happen_once() -> None:
    in_gap = [one for one in a_year("30 2,3 * * *") if one.date() == datetime(2027, 3, 28).date()]
    assert in_gap == [datetime(2027, 3, 28, 3, 30)]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE, UTC])
def test_what_happens_every_hour_happens_every_hour_when_clocks_change(zone: tzinfo) -> None:
    rule = Recurrence("cron", datetime(2027, 1, 1), cron="*/30 * * * *")
    times = list(rule.times_after(NEW_YEAR, zone, 365 * 48))
    assert {b - a for a, b in pairwise(times)} == {timedelta(minutes=30)}


def test_a_month_without_the_day_has_its_last_one() -> None:
    shown = a_year("every month on the 31st at 9")
    assert [one.day for one in shown] == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    assert [one.day for one in a_year("0 9 31 * *")] == [31] * 7, "a crontab line leaves them out"


def test_the_last_day_of_february_in_a_leap_year() -> None:
    rule = written_time("every year on 29 feb at 12:00", NEW_YEAR, BERLIN).rule
    assert rule is not None
    days = [as_local(at, BERLIN).date().isoformat() for at in rule.times_after(NEW_YEAR, BERLIN, 4)]
    assert days == ["2027-02-28", "2028-02-29", "2029-02-28", "2030-02-28"]
    leap = written_time("0 0 29 2 *", NEW_YEAR, BERLIN).rule
    assert leap is not None
    found = [as_local(at, BERLIN).year for at in leap.times_after(NEW_YEAR, BERLIN, 3)]
    assert found == [2028, 2032, 2036]


def test_a_rule_is_the_same_after_it_was_stored() -> None:
    for text in ("every 2 weeks on friday at 17:00", "0 9 l * 1#2", "every 90 minutes"):
        rule = written_time(text, NEW_YEAR, BERLIN).rule
        assert rule is not None
        assert Recurrence.of_json(rule.as_json()) == rule


def test_a_rule_ends_with_the_calendar() -> None:
    rule = Recurrence("year", datetime(2027, 1, 1), 1000)
    assert len(list(rule.times_after(NEW_YEAR, UTC, 1000))) == 8
