"""What may be scheduled, and what happens to a schedule that is due. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

from oshaberi.bot.schedules.written_times import WrittenTime
from oshaberi.errors import OshaberiError, Sentence

Kind = Literal["reminder", "task", "follow_up"]
"""A reminder is posted as it is written; for a task and a follow-up the model is asked."""
LONGEST_TEXT = 1000
FURTHEST = timedelta(days=366 * 5)
PUNCTUAL = timedelta(minutes=5)
"""How late a schedule may be without mentioning it."""
LATEST_TASK = timedelta(hours=12)
"""A task that is later than this is not done, and its author is told."""
_DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


class ScheduleRefusedError(OshaberiError):
    """Something cannot be scheduled. The message says why, and what can be done."""


@dataclass(frozen=True, slots=True)
class ScheduleLimits:
    """The limits in a channel, from its settings."""

    per_user: int
    per_server: int
    shortest: timedelta
    allows_tasks: bool = False
    allows_follow_ups: bool = False


def check_schedule(
    kind: Kind, text: str, at: WrittenTime, now: datetime, zone: tzinfo, limits: ScheduleLimits
) -> None:
    """Raise ScheduleRefusedError if this may not be scheduled. Counts are checked on storing."""
    if not text.strip():
        raise ScheduleRefusedError(Sentence("There is nothing to be reminded of: write a text."))
    if len(text) > LONGEST_TEXT:
        raise ScheduleRefusedError(
            Sentence("The text is too long: at most {most} characters.", most=LONGEST_TEXT)
        )
    if not limits.per_user or not limits.per_server:
        raise ScheduleRefusedError(Sentence("Nothing can be scheduled here (schedules_per_user)."))
    if kind == "task" and not limits.allows_tasks:
        raise ScheduleRefusedError(
            Sentence(
                "Here only reminders can be scheduled. Somebody who manages the server can allow "
                "tasks: `/config set schedule_tasks_enabled on`."
            )
        )
    if kind == "follow_up" and not limits.allows_follow_ups:
        raise ScheduleRefusedError(
            Sentence("The bot may not come back to a talk by itself here (follow_ups_enabled).")
        )
    if at.first > now + FURTHEST:
        raise ScheduleRefusedError(
            Sentence("That is too far away: at most {years} years.", years=FURTHEST.days // 366)
        )
    if at.rule is None:
        return
    if kind == "follow_up":
        raise ScheduleRefusedError(Sentence("A follow-up happens once."))
    between = at.rule.shortest_time(now, zone)
    if between is not None and between < limits.shortest:
        raise ScheduleRefusedError(
            Sentence(
                "That is too often: there must be at least {minutes} minutes between two times "
                "(schedule_shortest_minutes).",
                minutes=limits.shortest // timedelta(minutes=1),
            )
        )


Fate = Literal["now", "late", "told", "skipped"]
"""The fate of a due schedule: it runs; it runs and mentions the time; only its author is notified;
it is skipped."""


def fate_of(kind: str, due: datetime, following: datetime | None, now: datetime) -> Fate:
    """Return the fate of a schedule that was due at `due`. `following` is when it is due again.

    The latest missed time of a recurring schedule is made up for during the first half of the time
    to the next one. A single reminder is never too late; a single task is, after some hours.
    """
    late = now - due
    if late <= PUNCTUAL:
        return "now"
    if following is not None:
        return "late" if late <= min(LATEST_TASK, (following - due) / 2) else "skipped"
    if kind == "reminder":
        return "late"
    if late <= LATEST_TASK:
        return "late"
    return "told" if kind == "task" else "skipped"


def id_of_due(schedule_id: int, due: datetime) -> int:
    """Return an id for one time of a schedule, like the id of a message sent at that moment.

    It is always the same, so a process that takes over a due schedule finds what the earlier one
    has posted.
    """
    ms = (due - _DISCORD_EPOCH) // timedelta(milliseconds=1)
    return (ms << 22) | (schedule_id & 0x3FFFFF)


def time_of_due(occasion_id: int) -> datetime:
    """Return the time that an id was made from (`id_of_due`)."""
    return _DISCORD_EPOCH + timedelta(milliseconds=occasion_id >> 22)


WHY = "schedule"
"""The first word of the reason for a due schedule's turn; the second is its number."""


def why_of(schedule_id: int) -> str:
    return f"{WHY} {schedule_id}"


def schedule_of(why: str) -> int | None:
    """Return the number of the schedule in a reason; None if the reason is something else."""
    word, _, number = why.partition(" ")
    return int(number) if word == WHY and number.isdecimal() else None
