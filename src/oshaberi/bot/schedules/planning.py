"""Turns a request to schedule something into a record, or refuses it. Pure.

A time that depends on local clocks is refused while the author's time zone is unknown: a reminder
at the wrong time is worse than a question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from itertools import islice

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.schedules.cron_fields import CronError
from oshaberi.bot.schedules.recurrence import Recurrence
from oshaberi.bot.schedules.schedule_rules import (
    Kind,
    ScheduleLimits,
    ScheduleRefusedError,
    check_schedule,
)
from oshaberi.bot.schedules.time_words import WrittenTimeError
from oshaberi.bot.schedules.times_of_day import clock_time
from oshaberi.bot.schedules.written_times import WrittenTime, written_time
from oshaberi.bot.schedules.zones import ZoneError, zone_name, zone_of, zones_at
from oshaberi.bot.storage.records import ScheduleRecord
from oshaberi.errors import Sentence

NO_ZONE = Sentence(
    "I do not know your time zone, and that time depends on it. Tell me once, with `/timezone`."
)
TOO_MANY = {
    "user": Sentence(
        "You have {most} reminders and tasks already (schedules_per_user); remove one first: "
        "`/schedule list` shows them."
    ),
    "server": Sentence(
        "This server has too many reminders and tasks already (schedules_per_server)."
    ),
}
PAUSED_BY_MANAGER = Sentence("somebody who manages the server paused it")
NOT_PLANNED = (ScheduleRefusedError, WrittenTimeError, CronError)
"""The errors that `planned` raises, with words for the author."""
_ANYWHERE = (UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-8)))
"""Zones so far apart that a time which is the same in all of them depends on no zone."""


def limits_of(config: TurnConfig) -> ScheduleLimits:
    return ScheduleLimits(
        per_user=config.schedules_per_user,
        per_server=config.schedules_per_server,
        shortest=timedelta(minutes=config.schedule_shortest_minutes),
        allows_tasks=config.schedule_tasks_enabled,
        allows_follow_ups=config.follow_ups_enabled,
    )


def planned(
    wanted: ScheduleRecord, when: str, now: datetime, zone: str | None, limits: ScheduleLimits
) -> ScheduleRecord:
    """Return a schedule with the time that its author wrote.

    `zone` is the author's time zone, None if it is not known. Raises one of NOT_PLANNED.
    """
    place = UTC if zone is None else zone_of(zone)
    at = _without_zone(when, now) if zone is None else written_time(when, now, place)
    check_schedule(_kind(wanted.kind), wanted.text, at, now, place, limits)
    rule = None if at.rule is None else at.rule.as_json()
    text = wanted.text.strip()
    return replace(wanted, text=text, next_at=at.first, rule=rule, zone=zone or "UTC", at=now)


def _kind(kind: str) -> Kind:
    return "task" if kind == "task" else "follow_up" if kind == "follow_up" else "reminder"


def _without_zone(when: str, now: datetime) -> WrittenTime:
    """Return a time that is the same everywhere: `in 20 minutes`, `every 2 hours`."""
    read = [_read(when, now, place) for place in _ANYWHERE]
    found = [one for one in read if isinstance(one, WrittenTime)]
    if not found and isinstance(read[0], Exception):
        raise read[0]
    is_same = len(found) == len(read) and len({one.first for one in found}) == 1
    rule = found[0].rule
    if not is_same or (rule is not None and rule.unit not in ("minute", "hour")):
        raise ScheduleRefusedError(NO_ZONE)
    return found[0]


def _read(when: str, now: datetime, zone: tzinfo) -> WrittenTime | WrittenTimeError | CronError:
    try:
        return written_time(when, now, zone)
    except (WrittenTimeError, CronError) as error:
        return error


def stored(record: ScheduleRecord | str, limits: ScheduleLimits) -> ScheduleRecord:
    """Return what the database stored. Raises ScheduleRefusedError if a limit was reached."""
    if isinstance(record, str):
        words = TOO_MANY[record]
        raise ScheduleRefusedError(Sentence(words, most=limits.per_user))
    return record


def next_times(record: ScheduleRecord, most: int) -> tuple[datetime, ...]:
    """Return when a schedule is due next, and when after that."""
    if record.next_at is None:
        return ()
    if record.rule is None:
        return (record.next_at,)
    rule, zone = Recurrence.of_json(record.rule), zone_of(record.zone)
    return (record.next_at, *islice(rule.times_after(record.next_at, zone, most - 1), most - 1))


def resumed_at(record: ScheduleRecord, now: datetime) -> datetime | None:
    """Return when a paused schedule is due again; None if its only time is over."""
    if record.next_at is not None and record.next_at > now:
        return record.next_at
    if record.rule is None:
        return None
    return Recurrence.of_json(record.rule).next_after(now, zone_of(record.zone))


# -- the time zone of a person -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FoundZone:
    """The zone of somebody who said where they are, or what their clock shows.

    If only the time is known, the zone is an offset without daylight saving time, and `places` are
    well-known zones where it is that time.
    """

    name: str
    places: tuple[str, ...] = ()


HALF_OF_DAY = Sentence(
    "Is that in the morning or in the evening? Write `{hour} am` or `{hour} pm`."
)
NOWHERE = Sentence(
    "It is not that time anywhere now. What does your clock show, for example 21:30?"
)
MOST_PLACES = 5


def found_zone(text: str, now: datetime) -> FoundZone:
    """Return the time zone that a text names: a place, an offset, or what a clock shows now.

    Raises ZoneError.
    """
    shown = clock_time(text)
    if shown is None:
        return FoundZone(zone_name(text))
    at, is_clear = shown
    if not is_clear:
        raise ZoneError(Sentence(HALF_OF_DAY, hour=at.strftime("%H:%M").removeprefix("0")))
    return zone_by_clock(at, now)


def zone_by_clock(shown: time, now: datetime) -> FoundZone:
    """Return the offset at which clocks show this time now, and places that have it."""
    fitting = zones_at(shown, now)
    if not fitting:
        raise ZoneError(NOWHERE)
    offset = now.astimezone(zone_of(fitting[0])).utcoffset()
    places = [one for one in fitting if now.astimezone(zone_of(one)).utcoffset() == offset]
    return FoundZone(str(timezone(offset or timedelta())), tuple(places[:MOST_PLACES]))
