"""Reads times as people write them, in English and Japanese, by the clocks of a place.

All of a text must be understood: a reminder at another time than its author meant is worse than a
question. Libraries guess instead. The work is linear in the text, which is short anyway.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from oshaberi.bot.schedules.cron_fields import cron_fields
from oshaberi.bot.schedules.recurrence import MOST_EVERY, Recurrence, Unit
from oshaberi.bot.schedules.time_words import (
    ADVERBS,
    DOTTED,
    ISO,
    MONTH_NAMES,
    NOT_UNDERSTOOD,
    ORDINAL,
    PARTS_OF_DAY,
    UNITS,
    WEEKDAY_NAMES,
    WrittenTimeError,
)
from oshaberi.bot.schedules.times_of_day import ClockReader
from oshaberi.bot.schedules.zones import as_local, as_utc
from oshaberi.errors import Sentence

LONGEST = 120


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """The meaning of a text: the first time, and the rule if it recurs."""

    first: datetime
    rule: Recurrence | None = None


def written_time(text: str, now: datetime, zone: tzinfo) -> WrittenTime:
    """Parse a written time. Raises WrittenTimeError or CronError."""
    if len(text) > LONGEST:
        raise WrittenTimeError(Sentence("A time has at most {most} characters.", most=LONGEST))
    stamp = _STAMP.fullmatch(text.strip())
    if stamp is not None:
        return _at(datetime.fromtimestamp(int(stamp[1]), UTC), now)
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    local = as_local(now, zone)
    try:
        if _is_crontab(plain):
            line = plain.removeprefix("cron ").strip("` ")
            cron_fields(line)
            return _recurring(Recurrence("cron", local, cron=line), now, zone)
        return _Reader(plain, now, local, zone).read()
    except OverflowError:  # after the year 9999
        raise WrittenTimeError(NOT_UNDERSTOOD) from None


_STAMP = re.compile(r"<t:(\d{1,11})(?::[a-zA-Z])?>", re.ASCII)
_CRON_START = re.compile(r"[\d*][\d*,/-]*")


def _is_crontab(plain: str) -> bool:
    words = plain.strip("` ").split()
    if words[:1] == ["cron"]:
        return True
    return len(words) == 5 and all(_CRON_START.fullmatch(word) for word in words[:2])


def _at(moment: datetime, now: datetime) -> WrittenTime:
    if moment <= now:
        raise WrittenTimeError(Sentence("That time is over already."))
    return WrittenTime(moment)


def _recurring(rule: Recurrence, now: datetime, zone: tzinfo) -> WrittenTime:
    first = rule.next_after(now, zone)
    if first is None:
        raise WrittenTimeError(Sentence("That never happens."))
    return WrittenTime(first, rule)


class _Reader(ClockReader):
    """Reads one text."""

    def __init__(self, plain: str, now: datetime, local: datetime, zone: tzinfo) -> None:
        super().__init__(plain)
        self._now = now
        self._local = local
        self._zone = zone

    def read(self) -> WrittenTime:
        self._skip("remind", "me", "please")
        if not self._words:
            raise WrittenTimeError(NOT_UNDERSTOOD)
        return self._repeated() or self._after_a_while() or self._once()

    # Once

    def _after_a_while(self) -> WrittenTime | None:
        """Read `in 20 minutes`, `in 1 day and 3 hours`, `20 min`, `half an hour`."""
        kept = list(self._words)
        self._take("in", "after")
        if not self._words:
            raise WrittenTimeError(NOT_UNDERSTOOD)
        days, months, seconds = 0, 0, 0
        while self._words:
            amount = self._amount()
            if amount is None:
                self._words = kept
                return None
            unit, count = amount
            days += count * {"day": 1, "week": 7}.get(unit, 0)
            months += count * {"month": 1, "year": 12}.get(unit, 0)
            seconds += count * {"minute": 60, "hour": 3600}.get(unit, 0)
            self._take("and")
            if self._next() in ("at", "on"):
                break
        if self._words and not (days or months):
            raise WrittenTimeError(NOT_UNDERSTOOD)
        day = _months_later(self._local.date(), months) + timedelta(days=days)
        if self._words:
            at = self._time_of_day()
            self._end()
            return self._moment(day, at)
        moved = datetime.combine(day, self._local.time())
        start = self._now if moved == self._local else as_utc(moved, self._zone)
        return _at(start + timedelta(seconds=seconds), self._now)

    def _amount(self) -> tuple[Unit, int] | None:
        """Read `20 minutes`, `an hour`, `half an hour`."""
        if self._take("half"):
            self._take("a", "an")
            return ("minute", 30) if self._take("hour") else None
        count = 1 if self._take("a", "an") else self._number()
        unit = UNITS.get(self._next())
        if count is None or unit is None:
            return None
        self._words.pop(0)
        return unit[0], count * unit[1]

    def _once(self) -> WrittenTime:
        """Read a day and a time, in either order; one of them may be missing."""
        at = self._time_of_day_or_none()
        day, is_exact = self._day()
        if at is None:
            at = self._time_of_day_or_none()
        if day is None and at is not None and not self._words:
            return self._next_time(at)
        if day is None:
            day, is_exact = self._day()
        self._end()
        if day is None:
            raise WrittenTimeError(NOT_UNDERSTOOD)
        moment = as_utc(datetime.combine(day, at or time(9)), self._zone)
        if moment <= self._now and not is_exact:
            moment = self._later(day, at or time(9))
        return _at(moment, self._now)

    def _later(self, day: date, at: time) -> datetime:
        """Return the time one week later: on a Monday, `monday 9:00` may have passed already."""
        return as_utc(datetime.combine(day + timedelta(days=7), at), self._zone)

    def _next_time(self, at: time) -> WrittenTime:
        """Return the next time at which clocks show this."""
        day = self._local.date()
        moment = as_utc(datetime.combine(day, at), self._zone)
        if moment <= self._now:
            moment = as_utc(datetime.combine(day + timedelta(days=1), at), self._zone)
        return WrittenTime(moment)

    def _moment(self, day: date, at: time) -> WrittenTime:
        return _at(as_utc(datetime.combine(day, at), self._zone), self._now)

    def _day(self) -> tuple[date | None, bool]:
        """Read a day. Return it, and whether it means exactly that day, even if it is past."""
        self._take("on")
        today = self._local.date()
        word = self._next()
        named = {"today": 0, "tonight": 0, "tomorrow": 1, "day-after-tomorrow": 2}
        if word in named:
            if word != "tonight":
                self._words.pop(0)
            return today + timedelta(days=named[word]), True
        if self._take("next"):
            return self._next_unit(today), True
        if self._take("this") and self._next() in PARTS_OF_DAY:
            return today, True
        if self._next() in WEEKDAY_NAMES:
            ahead = (WEEKDAY_NAMES[self._words.pop(0)] - today.isoweekday()) % 7
            return today + timedelta(days=ahead), False
        return self._date(today), True

    def _next_unit(self, today: date) -> date:
        """Read what stands after `next`: a weekday, `week`, `month`, `year`."""
        word = self._words.pop(0) if self._words else ""
        if word in WEEKDAY_NAMES:
            ahead = (WEEKDAY_NAMES[word] - today.isoweekday()) % 7 or 7
            return today + timedelta(days=ahead)
        if word == "week":
            self._take("on")
            if self._next() in WEEKDAY_NAMES:
                monday = today - timedelta(days=today.weekday()) + timedelta(days=7)
                return monday + timedelta(days=WEEKDAY_NAMES[self._words.pop(0)] - 1)
            return today + timedelta(days=7)
        if word in ("month", "year"):
            return _months_later(today, 1 if word == "month" else 12)
        raise WrittenTimeError(NOT_UNDERSTOOD)

    def _date(self, today: date) -> date | None:
        """Read `2026-12-24`, `24.12.`, `24 dec 2026`, `dec 24th`, `the 31st`."""
        word = self._next()
        if (found := ISO.fullmatch(word)) is not None:
            self._words.pop(0)
            return _as_date(int(found[1]), int(found[2]), int(found[3]))
        if (found := DOTTED.fullmatch(word)) is not None:
            self._words.pop(0)
            return _coming(today, int(found[2]), int(found[1]), int(found[3] or 0))
        self._take("the")
        month_day = self._day_and_month()
        if month_day is not None:
            month, day = month_day
            year = int(self._words.pop(0)) if _YEAR.fullmatch(self._next()) else 0
            return _coming(today, month, day, year)
        if (found := ORDINAL.fullmatch(self._next())) is not None:
            self._words.pop(0)
            return _coming_day(today, int(found[1]))
        return None

    def _day_and_month(self) -> tuple[int, int] | None:
        """Read `24 dec`, `24th of december`, `december 24`."""
        first, second = self._next(), self._next(1)
        if second == "of":
            second = self._next(2)
        if first in MONTH_NAMES and (day := _day_number(second)) and self._next(1) != "of":
            del self._words[:2]
            return MONTH_NAMES[first], day
        day = _day_number(first)
        if day and second in MONTH_NAMES:
            del self._words[: 3 if self._next(1) == "of" else 2]
            return MONTH_NAMES[second], day
        return None

    # Again and again

    def _repeated(self) -> WrittenTime | None:
        kept = list(self._words)
        at = self._time_of_day_or_none()
        month_day = self._leading_month_day()
        found = self._how_often()
        if found is None:
            self._words = kept
            return None
        unit, every, weekdays = found
        at = at or self._time_of_day_or_none()
        month, month_day = self._where_in(unit, month_day)
        if self._words and at is None:
            at = self._time_of_day_or_none()
        self._end()
        if month_day > 31 or not 1 <= every <= MOST_EVERY:
            raise WrittenTimeError(NOT_UNDERSTOOD)
        return _recurring(
            self._rule(unit, every, weekdays, at, month, month_day), self._now, self._zone
        )

    def _leading_month_day(self) -> int:
        """Read `on the 31st of` before `every month`."""
        kept = list(self._words)
        self._skip("on", "the")
        if self._take("last"):
            self._take("day")
            day = 31
        else:
            found = ORDINAL.fullmatch(self._next())
            day = int(found[1]) if found is not None else 0
            if day:
                self._words.pop(0)
        self._take("of")
        if day and self._next() in ("every", "each"):
            return day
        self._words = kept
        return 0

    def _how_often(self) -> tuple[Unit, int, tuple[int, ...]] | None:
        """Read `every 2 weeks`, `daily`, `every monday and friday`, `every weekday`."""
        if self._next() in ADVERBS:
            return (*ADVERBS[self._words.pop(0)], self._weekdays())
        if self._take("weekdays"):
            return "week", 1, (1, 2, 3, 4, 5)
        if not self._take("every", "each"):
            plural = self._next() in WEEKDAY_NAMES and self._next().endswith("days")
            return ("week", 1, self._weekdays()) if plural else None
        if self._take("other", "second"):
            every = 2
        else:
            number = self._number()
            every = 1 if number is None else number
        word = self._next()
        if self._take("weekday", "workday"):
            return "week", every, (1, 2, 3, 4, 5)
        if self._take("weekend"):
            return "week", every, (6, 7)
        if word in PARTS_OF_DAY:
            return "day", every, ()
        if word in WEEKDAY_NAMES:
            return "week", every, self._weekdays()
        if word not in UNITS:
            raise WrittenTimeError(NOT_UNDERSTOOD)
        self._words.pop(0)
        unit, times = UNITS[word]
        return unit, every * times, self._weekdays() if unit == "week" else ()

    def _weekdays(self) -> tuple[int, ...]:
        """Read `on monday, wednesday and friday`."""
        kept = list(self._words)
        self._take("on")
        found: set[int] = set()
        while self._next() in WEEKDAY_NAMES:
            found.add(WEEKDAY_NAMES[self._words.pop(0)])
            if self._next() in ("and", "&") and self._next(1) in WEEKDAY_NAMES:
                self._words.pop(0)
        if not found:
            self._words = kept
        return tuple(sorted(found))

    def _where_in(self, unit: Unit, month_day: int) -> tuple[int, int]:
        """Read the day of a month (`on the 31st`) or of a year (`on 24 dec`)."""
        if unit not in ("month", "year"):
            return 0, 0
        self._skip("on", "the")
        if unit == "year":
            return self._day_and_month() or (0, 0)
        if month_day:
            return 0, month_day
        if self._next() == "last":
            self._words.pop(0)
            self._take("day")
            return 0, 31
        found = ORDINAL.fullmatch(self._next())
        if found is None:
            return 0, 0
        self._words.pop(0)
        return 0, int(found[1])

    def _rule(
        self,
        unit: Unit,
        every: int,
        weekdays: tuple[int, ...],
        at: time | None,
        month: int,
        month_day: int,
    ) -> Recurrence:
        start = self._local.replace(second=0, microsecond=0)
        if unit not in ("minute", "hour"):
            start = datetime.combine(start.date(), at or time(9))
        elif at is not None:
            start = datetime.combine(start.date(), at)
        if month:
            day = _as_date(2000, month, month_day)  # a leap year, in which every day can be
            start = start.replace(month=day.month, day=1)
        elif month_day:
            start = start.replace(day=1)
        return Recurrence(unit, start, every, weekdays, month_day)


_YEAR = re.compile(r"\d{4}", re.ASCII)


def _day_number(word: str) -> int:
    found = ORDINAL.fullmatch(word) or re.fullmatch(r"(\d{1,2})\.?", word, re.ASCII)
    return int(found[1]) if found is not None else 0


def _as_date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise WrittenTimeError(Sentence("There is no such day.")) from None


def _coming(today: date, month: int, day: int, year: int) -> date:
    """Return a date; without a year, the next such day. 29 February is in the next leap year."""
    if year:
        return _as_date(year, month, day)
    _as_date(2000, month, day)
    for ahead in range(9):
        try:
            found = date(today.year + ahead, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    raise WrittenTimeError(Sentence("There is no such day."))


def _coming_day(today: date, day: int) -> date:
    """Return the next day with this number. Months that do not have it are left out."""
    if not 1 <= day <= 31:
        raise WrittenTimeError(Sentence("There is no such day."))
    year, month = today.year, today.month
    while True:
        try:
            found = date(year, month, day)
        except ValueError:
            found = date.min
        if found >= today:
            return found
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)


def _months_later(day: date, months: int) -> date:
    """Return the same day of a later month, or its last day."""
    if not months:
        return day
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if year > 9999:
        raise OverflowError
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - timedelta(days=1)).day))
