"""The tool `schedule`: reminders and tasks of whoever asked, and their time zone.

It works only for the person who has just addressed the bot, and cannot name anybody else's
schedules: text that somebody planted in the channel reaches at most the asker's own.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import ToolContext, ToolFailedError, has_store

if TYPE_CHECKING:
    from oshaberi.bot.storage import Database
    from oshaberi.bot.storage.records import ScheduleRecord

Action = Literal["add", "list", "cancel", "time_zone"]
What = Literal["reminder", "task", "follow_up"]
MOST_LISTED = 25
TIMES_TOLD = 3
_ASK_FOR_ZONE = (
    "the time depends on the user's time zone, which is not known. Ask what time it is for them or "
    "where they are, store the answer with the action time_zone, then add this again"
)


def is_offered(context: ToolContext) -> bool:
    return has_store(context) and context.is_addressed and context.turn.schedules_per_user > 0


@tool(offered=is_offered)
async def schedule(
    context: ToolContext,
    action: Action,
    when: str = "",
    text: str = "",
    what: What = "reminder",
    number: int = 0,
    zone: str = "",
) -> str:
    """Remind the user who asked of something later, or do something then, once or again and again.

    Args:
        action: add, list or cancel what this user has scheduled, or store their time_zone.
        when: For add, as the user said it: "in 20 minutes", "tomorrow at 9", "every monday 17:30".
        text: For add, what to remind them of; for a task what you are to do then.
        what: A reminder is posted as it is; at the time of a task you are asked to do it; with a
            follow_up you come back by yourself, once, to what was said here: text is about what.
        number: For cancel, the number that list shows.
        zone: For time_zone, their city, or what their clock shows ("it is 9 pm").
    """
    if action == "add":
        return await _add(context, when, text, what)
    if action == "cancel":
        return await _cancel(context, number)
    if action == "time_zone":
        return await _store_zone(context, zone)
    return await _list(context)


def _store_of(context: ToolContext) -> Database:
    if context.store is None or not context.is_addressed or context.incoming.said.author.is_bot:
        raise ToolFailedError("nothing can be scheduled here")
    return context.store


async def _add(context: ToolContext, when: str, text: str, what: What) -> str:
    from oshaberi.bot.schedules.planning import (
        NO_ZONE,
        NOT_PLANNED,
        limits_of,
        planned,
        stored,
    )
    from oshaberi.bot.storage.records import ScheduleRecord

    db, place = _store_of(context), context.turn_channel
    if what == "follow_up" and await db.unapproached.among([context.user_id]):
        raise ToolFailedError("this user does not want to be spoken to first")
    wanted = ScheduleRecord(
        context.incoming.server_id, place.channel_id, context.user_id, what, text, None
    )
    zone, limits = await db.time_zones.of(context.user_id), limits_of(context.turn)
    try:
        made = planned(wanted, when, context.now(), zone, limits)
        added = await db.schedules.add(made, limits.per_user, limits.per_server)
        return f"Scheduled. {_line(stored(added, limits))}"
    except NOT_PLANNED as error:
        raise ToolFailedError(_ASK_FOR_ZONE if error.args[0] is NO_ZONE else str(error)) from None


def _line(record: ScheduleRecord) -> str:
    """Describe a schedule by its author's clocks."""
    from oshaberi.bot.schedules.planning import next_times

    times = [_moment(one, record.zone) for one in next_times(record, TIMES_TOLD)]
    shown = "paused" if record.is_paused else f"{times[0]}, in messages {_stamp(record)}"
    again = f", then {', '.join(times[1:])} and so on" if len(times) > 1 else ""
    return f"#{record.id} {record.kind}, {shown}{again}: {record.text}"


def _moment(moment: datetime, zone: str) -> str:
    from oshaberi.bot.schedules.zones import zone_of

    return f"{moment.astimezone(zone_of(zone)):%a %Y-%m-%d %H:%M} ({zone})"


def _stamp(record: ScheduleRecord) -> str:
    assert record.next_at is not None
    return f"<t:{int(record.next_at.timestamp())}:f>"


async def _list(context: ToolContext) -> str:
    theirs = await _theirs(context)
    lines = [_line(one) for one in theirs[:MOST_LISTED]]
    return "\n".join(["The user has scheduled here:", *(lines or ["(nothing)"])])


async def _theirs(context: ToolContext) -> list[ScheduleRecord]:
    """Return what the user has scheduled in this server: their other servers are private."""
    known = await _store_of(context).schedules.of_user(context.user_id)
    return [one for one in known if one.server_id == context.incoming.server_id]


async def _cancel(context: ToolContext, number: int) -> str:
    db = _store_of(context)
    if number not in {one.id for one in await _theirs(context)}:
        raise ToolFailedError(f"the user has scheduled no #{number}; list shows what there is")
    await db.schedules.delete(number)
    return f"Cancelled: #{number}."


async def _store_zone(context: ToolContext, zone: str) -> str:
    from oshaberi.bot.schedules.planning import found_zone
    from oshaberi.bot.schedules.zones import ZoneError, zone_of

    db, now = _store_of(context), context.now()
    try:
        found = found_zone(zone, now)
    except ZoneError as error:
        raise ToolFailedError(str(error)) from None
    await db.time_zones.store(context.user_id, found.name)
    there = now.astimezone(zone_of(found.name))
    told = f"Stored: {found.name}, where it is {there:%A %H:%M} now."
    if found.places:
        told += (
            f" Places with this time: {', '.join(found.places)}. If you learn in which one the "
            "user is, store that instead: an offset knows no summer time."
        )
    return told
