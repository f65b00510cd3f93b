"""A day of usage begins at midnight UTC, wherever the clock that is asked stands."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

from oshaberi.bot.storage.usage import first_kept_day, renewal, usage_day

EVENING = datetime(2026, 3, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
DAY = date(2026, 4, 1)


def test_the_day_is_that_of_utc() -> None:
    assert usage_day(EVENING) == DAY
    assert usage_day(datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC)) == date(2026, 3, 31)


def test_a_quota_renews_at_the_next_midnight() -> None:
    assert renewal(DAY) == datetime(2026, 4, 2, tzinfo=UTC)
    assert usage_day(renewal(DAY)) == DAY + timedelta(1)


def test_whole_days_are_kept() -> None:
    assert first_kept_day(EVENING, 2) == date(2026, 3, 30)
    assert first_kept_day(EVENING, 0) == DAY
