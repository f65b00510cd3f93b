"""What may be scheduled, and what becomes of a schedule that is late."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from oshaberi.bot.schedules.schedule_rules import (
    LONGEST_TEXT,
    Kind,
    ScheduleLimits,
    ScheduleRefusedError,
    check_schedule,
    fate_of,
    id_of_due,
    schedule_of,
    why_of,
)
from oshaberi.bot.schedules.written_times import written_time

NOW = datetime(2026, 11, 19, 9, 0, tzinfo=UTC)
LIMITS = ScheduleLimits(10, 100, timedelta(hours=1), allows_tasks=True, allows_follow_ups=True)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def check(kind: Kind, when: str, text: str = "milk", limits: ScheduleLimits = LIMITS) -> None:
    check_schedule(kind, text, written_time(when, NOW, UTC), NOW, UTC, limits)


def test_what_is_allowed() -> None:
    check("reminder", "in 1 minute")
    check("task", "every hour")
    check("follow_up", "tomorrow at 9")
    check("reminder", "every month on the 31st", "x" * LONGEST_TEXT)


@pytest.mark.parametrize(
    ("kind", "when", "text", "limits", "says"),
    [
        ("reminder", "at 9", " \n", LIMITS, "nothing"),
        ("reminder", "at 9", "x" * (LONGEST_TEXT + 1), LIMITS, "too long"),
        ("reminder", "in 6 years", "x", LIMITS, "too far"),
        ("reminder", "every 59 minutes", "x", LIMITS, "too often"),
        ("task", "* * * * *", "x", LIMITS, "too often"),
        ("task", "0,1 9 1 1 *", "x", LIMITS, "too often"),
        ("task", "0 9,10 29 2 *", "x", replace(LIMITS, shortest=2 * HOUR), "too often"),
        ("reminder", "at 9", "x", replace(LIMITS, per_user=0), "schedules_per_user"),
        ("task", "at 9", "x", replace(LIMITS, allows_tasks=False), "schedule_tasks_enabled"),
        ("follow_up", "at 9", "x", replace(LIMITS, allows_follow_ups=False), "follow_ups_enabled"),
        ("follow_up", "every day", "x", LIMITS, "once"),
    ],
)
def test_what_is_not(kind: Kind, when: str, text: str, limits: ScheduleLimits, says: str) -> None:
    with pytest.raises(ScheduleRefusedError, match=says):
        check(kind, when, text, limits)


@pytest.mark.parametrize(
    ("kind", "late", "following", "fate"),
    [
        ("reminder", timedelta(minutes=4), None, "now"),
        ("reminder", HOUR, None, "late"),
        ("reminder", 100 * DAY, None, "late"),
        ("task", HOUR, None, "late"),
        ("task", 13 * HOUR, None, "told"),
        ("follow_up", 13 * HOUR, None, "skipped"),
        ("reminder", 11 * HOUR, DAY, "late"),
        ("reminder", 13 * HOUR, DAY, "skipped"),
        ("task", 13 * HOUR, 7 * DAY, "skipped"),
        ("task", timedelta(minutes=20), HOUR, "late"),
        ("task", timedelta(minutes=40), HOUR, "skipped"),
    ],
)
def test_what_was_missed_is_made_up_for_told_or_left_out(
    kind: Kind, late: timedelta, following: timedelta | None, fate: str
) -> None:
    due_again = None if following is None else NOW + following
    assert fate_of(kind, NOW, due_again, NOW + late) == fate


def test_each_time_of_a_schedule_has_an_id_of_its_own_like_a_message_of_that_moment() -> None:
    ids = {id_of_due(number, NOW + k * HOUR) for number in (1, 2, 500) for k in range(10)}
    assert len(ids) == 30
    assert id_of_due(1, NOW) == id_of_due(1, NOW)
    earlier, later = ((NOW + shift - datetime(2015, 1, 1, tzinfo=UTC)) for shift in (-HOUR, HOUR))
    milliseconds = timedelta(milliseconds=1)
    assert (earlier // milliseconds) << 22 < id_of_due(9, NOW) < (later // milliseconds) << 22


def test_the_reason_of_a_turn_names_its_schedule() -> None:
    assert schedule_of(why_of(12)) == 12
    for why in ("mention", "schedule", "schedule x", "schedules 1", ""):
        assert schedule_of(why) is None
