"""The day that usage is counted for: it begins at midnight UTC, for every server."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta


def usage_day(at: datetime) -> date:
    """Return the day that a request made at this time counts for."""
    return at.astimezone(UTC).date()


def renewal(day: date) -> datetime:
    """Return when the quotas of a day are renewed."""
    return datetime.combine(day + timedelta(1), time(), UTC)


def first_kept_day(at: datetime, kept_days: int) -> date:
    """Return the oldest day whose counts are not deleted yet."""
    return usage_day(at) - timedelta(kept_days)
