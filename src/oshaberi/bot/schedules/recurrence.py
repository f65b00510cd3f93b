"""When a recurring schedule happens next.

Days, weeks, months and years are counted by local clocks: nine o'clock stays nine o'clock when the
clocks change. A time that clocks skip happens an hour later; one that they show twice happens the
first time. In a month without that day, the last day counts: "the 31st" is 30 June, and 29 February
in a leap year. Minutes and hours are counted as they pass.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import islice, pairwise
from typing import Any, Literal

from oshaberi.bot.schedules.cron_fields import cron_fields
from oshaberi.bot.schedules.zones import as_local, as_utc

Unit = Literal["minute", "hour", "day", "week", "month", "year", "cron"]
MOST_EVERY = 1000
COMPARED = 60
"""How many occurrences are compared to find the shortest time between two."""
_SECONDS = {"minute": 60, "hour": 3600}


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule. `start` is a local time: the time of day, and where counting begins.

    `weekdays` (Monday is 1) are those of a week, `month_day` is the day of a month or year.
    """

    unit: Unit
    start: datetime
    every: int = 1
    weekdays: tuple[int, ...] = ()
    month_day: int = 0
    cron: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "start": self.start.isoformat(),
            "every": self.every,
            "weekdays": list(self.weekdays),
            "month_day": self.month_day,
            "cron": self.cron,
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Recurrence:
        return cls(
            stored["unit"],
            datetime.fromisoformat(stored["start"]),
            stored["every"],
            tuple(stored["weekdays"]),
            stored["month_day"],
            stored["cron"],
        )

    def next_after(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """Return the first time after this moment; None if there is none."""
        try:
            return next((at for at in self._from(moment, zone) if at > moment), None)
        except OverflowError:  # after the year 9999
            return None

    def times_after(self, moment: datetime, zone: tzinfo, most: int) -> Iterator[datetime]:
        """Yield at most `most` times after this moment."""
        at: datetime | None = moment
        for _ in range(most):
            at = self.next_after(at, zone) if at is not None else None
            if at is None:
                return
            yield at

    def shortest_time(self, moment: datetime, zone: tzinfo) -> timedelta | None:
        """Return the shortest time between the next occurrences; None if there is only one."""
        times = list(islice(self.times_after(moment, zone, COMPARED), COMPARED))
        return min((b - a for a, b in pairwise(times)), default=None)

    def _from(self, moment: datetime, zone: tzinfo) -> Iterator[datetime]:
        """Yield moments in order, beginning at or before the first one after `moment`."""
        if self.unit in ("minute", "hour"):
            yield self._passing(moment, zone)
            return
        local = as_local(moment, zone)
        if self.unit == "cron":
            yield from self._of_cron(local, zone)
            return
        for day in self._days(max(local.date() - timedelta(days=1), self.start.date())):
            yield as_utc(datetime.combine(day, self.start.time()), zone)

    def _passing(self, moment: datetime, zone: tzinfo) -> datetime:
        step = timedelta(seconds=_SECONDS[self.unit] * self.every)
        start = as_utc(self.start, zone)
        passed = (moment - start) // step + 1
        return start + max(passed, 0) * step

    def _of_cron(self, local: datetime, zone: tzinfo) -> Iterator[datetime]:
        fields = cron_fields(self.cron)
        first = max(local - timedelta(hours=3), self.start)
        for hour in fields.hours_from(first.replace(second=0, microsecond=0)):
            moments = {as_utc(at, zone) for at in hour}
            if fields.any_hour:
                moments |= {as_utc(at, zone, later=True) for at in hour}
            yield from sorted(moments)

    def _days(self, first: date) -> Iterator[date]:
        """Yield the days of the rule, beginning at or before the first one from `first` on."""
        begin = self.start.date()
        if self.unit == "day":
            ahead = (first - begin).days // self.every * self.every
            while True:
                yield begin + timedelta(days=ahead)
                ahead += self.every
        if self.unit == "week":
            yield from self._in_weeks(first)
        months = self.every * (12 if self.unit == "year" else 1)
        since = (first.year - begin.year) * 12 + first.month - begin.month
        ahead = since // months * months
        while True:
            year, month = divmod(begin.year * 12 + begin.month - 1 + ahead, 12)
            if year > 9999:
                raise OverflowError
            last = calendar.monthrange(year, month + 1)[1]
            day = date(year, month + 1, min(self.month_day or begin.day, last))
            if day >= begin:
                yield day
            ahead += months

    def _in_weeks(self, first: date) -> Iterator[date]:
        begin = self.start.date()
        monday = begin - timedelta(days=begin.weekday())
        ahead = (first - monday).days // 7 // self.every * self.every
        while True:
            for weekday in self.weekdays or (begin.isoweekday(),):
                day = monday + timedelta(days=ahead * 7 + weekday - 1)
                if day >= begin:
                    yield day
            ahead += self.every
