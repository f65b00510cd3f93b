"""The five fields of a crontab line: minute, hour, day of the month, month, day of the week.

As in Vixie cron: `*`, lists, ranges, steps and English names. If both days are restricted, either
is enough. Also `L` for the last day of the month and `1#2` for its second Monday.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from oshaberi.errors import OshaberiError, Sentence

LONGEST = 100
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_TERM = re.compile(r"(\*|[a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?(?:/(\d{1,2}))?", re.ASCII)
_NTH = re.compile(r"([a-z]{3}|[0-7])#([1-5])", re.ASCII)
LONGEST_SEARCH = timedelta(days=366 * 9)
"""Two leap days can be eight years apart."""


class CronError(OshaberiError):
    """A crontab line cannot be used. The message names the field."""


@dataclass(frozen=True, slots=True)
class CronFields:
    """A parsed line."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """As in ISO 8601: Monday is 1."""
    nth: frozenset[tuple[int, int]] = frozenset()
    """Weekdays with their number in the month."""
    is_last: bool = False
    """Whether the last day of the month is one of its days."""
    either: bool = False
    """Whether the day of the month or that of the week is enough."""
    any_hour: bool = False
    """Whether it happens in every hour, and so in both of the hours that clocks show twice."""

    def is_on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month = day.day in self.days or (self.is_last and day.day == _last_day(day))
        in_week = (
            day.isoweekday() in self.weekdays or (day.isoweekday(), (day.day + 6) // 7) in self.nth
        )
        return (in_month or in_week) if self.either else (in_month and in_week)

    def hours_from(self, first: datetime) -> Iterator[list[datetime]]:
        """Yield the matching local times from this one on, hour by hour.

        Ends if there are no more.
        """
        day, last = first.date(), first.date() + LONGEST_SEARCH
        while day <= last:
            if self.is_on(day):
                for hour in self.hours:
                    times = [datetime.combine(day, time(hour, minute)) for minute in self.minutes]
                    yield [at for at in times if at >= first]
                last = day + LONGEST_SEARCH
            day += timedelta(days=1)


def _last_day(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def cron_fields(line: str) -> CronFields:
    """Parse a line. Raises CronError."""
    fields = line.lower().split()
    if len(line) > LONGEST or len(fields) != 5:
        raise CronError(
            Sentence(
                "A crontab line has five fields: minute, hour, day of the month, month, day of the "
                "week, for example `0 9 * * 1`."
            )
        )
    minute, hour, day, month, weekday = fields
    day_terms = day.split(",")
    is_last = "l" in day_terms
    plain_days = [one for one in day_terms if one != "l"]
    nth, plain_weekdays = _nth(weekday)
    days = _numbers("day of the month", ",".join(plain_days), 1, 31) if plain_days else ()
    weekdays = _numbers("day of the week", plain_weekdays, 0, 7, _DAYS) if plain_weekdays else ()
    return CronFields(
        _numbers("minute", minute, 0, 59),
        _numbers("hour", hour, 0, 23),
        frozenset(days),
        frozenset(_numbers("month", month, 1, 12, _MONTHS, 1)),
        frozenset(one or 7 for one in weekdays),
        nth,
        is_last,
        either=not day.startswith("*") and not weekday.startswith("*"),
        any_hour=hour == "*",
    )


def _nth(field: str) -> tuple[frozenset[tuple[int, int]], str]:
    """Return the terms like `1#2`, and the rest of the field."""
    found: set[tuple[int, int]] = set()
    rest = []
    for term in field.split(","):
        match = _NTH.fullmatch(term)
        if match is None:
            rest.append(term)
        else:
            day = _number("day of the week", match[1], 0, 7, _DAYS, 0)
            found.add((day or 7, int(match[2])))
    return frozenset(found), ",".join(rest)


def _numbers(
    what: str, field: str, low: int, high: int, names: tuple[str, ...] = (), first: int = 0
) -> tuple[int, ...]:
    found: set[int] = set()
    for term in field.split(","):
        match = _TERM.fullmatch(term)
        if match is None:
            raise _refusal(what, term, low, high)
        start, end = low, high
        if match[1] != "*":
            start = _number(what, match[1], low, high, names, first)
            end = start if match[3] is None else high
        if match[2] is not None:
            end = _number(what, match[2], low, high, names, first)
        step = int(match[3] or 1)
        if step == 0 or end < start or (match[1] == "*" and match[2] is not None):
            raise _refusal(what, term, low, high)
        found.update(range(start, end + 1, step))
    return tuple(sorted(found))


def _number(what: str, word: str, low: int, high: int, names: tuple[str, ...], first: int) -> int:
    if word in names:
        return names.index(word) + first
    if not word.isdecimal() or not low <= int(word) <= high:
        raise _refusal(what, word, low, high)
    return int(word)


_FIELD_NAMES = {
    "minute": Sentence("minute"),
    "hour": Sentence("hour"),
    "day of the month": Sentence("day of the month"),
    "month": Sentence("month"),
    "day of the week": Sentence("day of the week"),
}


def _refusal(what: str, term: str, low: int, high: int) -> CronError:
    return CronError(
        Sentence(
            "The field “{field}” of the crontab line has {term}; it takes {low} to {high}, `*`, "
            "lists, ranges and steps.",
            field=_FIELD_NAMES[what],
            term=repr(term[:20]),
            low=low,
            high=high,
        )
    )
