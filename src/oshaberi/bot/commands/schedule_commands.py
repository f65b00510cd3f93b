"""`/schedule`, `/timezone` and `/birthday`: what happens when, and by whose clocks."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, answer, choices, number_in, plain
from oshaberi.bot.commands.command_context import (
    Chosen,
    Command,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
    turn_channel_of,
    visible_channel,
)
from oshaberi.bot.commands.privacy_commands import erasure_note
from oshaberi.bot.schedules.planning import (
    NOT_PLANNED,
    PAUSED_BY_MANAGER,
    FoundZone,
    found_zone,
    limits_of,
    next_times,
    planned,
    resumed_at,
    stored,
)
from oshaberi.bot.schedules.schedule_rules import LONGEST_TEXT
from oshaberi.bot.schedules.times_of_day import clock_time
from oshaberi.bot.schedules.written_times import LONGEST as LONGEST_TIME
from oshaberi.bot.schedules.zones import WELL_KNOWN, ZoneError, zone_names, zone_of, zones_at
from oshaberi.bot.storage.records import Birthday, ScheduleRecord
from oshaberi.bot.turns.admission.rules import unlisted
from oshaberi.bot.turns.control_reply import NOT_LISTED
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.languages import translatable, translated

Whose = Literal["mine", "server"]
What = Literal["reminder", "task"]
LINE_LIMIT = 100
MOST_SHOWN = 25
TIMES_SHOWN = 3
ADDED = {
    "reminder": translatable("Reminder #{number} is set for {when}."),
    "task": translatable("Task #{number} is set for {when}."),
}
AGAIN = translatable("It comes again: {times}.")
BY_CLOCKS_OF = translatable("In the time zone {zone}; `/timezone` changes it for new ones.")
NONE_OF_YOURS = translatable(
    "You have scheduled nothing here. `/schedule add` does it, for example for `tomorrow at 9`."
)
NONE_HERE = translatable("Nothing is scheduled in this server.")
NO_SUCH = translatable("There is no such reminder or task; `/schedule list` shows all.")
REMOVED = translatable("#{number} is removed.")
PAUSED = translatable("#{number} is paused.")
RESUMED = translatable("#{number} goes on: {when}.")
IS_PAUSED = translatable("paused")
IS_OVER = translatable("Its time is over. Remove it, and schedule it again.")
ONLY_MANAGERS = translatable(
    "Somebody who manages the server paused it; only such a member can let it go on."
)
HIDDEN = translatable("(in a channel that you cannot see)")
MUTE_HERE = translatable("I may not write in this channel.")
YOUR_ZONE = translatable("Your time zone is {zone}; it is {time} there.")
NO_ZONE_YET = translatable(
    "I do not know your time zone. Choose a place, or write what your clock shows, for example "
    "`21:30`."
)
ZONE_FORGOTTEN = translatable("Your time zone is forgotten.")
AN_OFFSET = translatable(
    "That fits for example {places}. An offset knows no summer time: if yours has one, choose a "
    "place."
)
FORGET = "none"


# -- adding --------------------------------------------------------------------------------------


async def add_schedule(interaction: Interaction, when: str, text: str, what: What) -> str:
    context, asker = context_of(interaction), asker_of(interaction)
    asker.must_write()
    config = (await context.services.settings(asker.path)).turn
    if unlisted(asker.person, asker.path, config):
        raise CommandRefusedError(translated(NOT_LISTED.text))
    if not turn_channel_of(interaction).may_write:
        raise CommandRefusedError(translated(MUTE_HERE))
    wanted = ScheduleRecord(asker.server_id, asker.channel_id, asker.person.id, what, text, None)
    zone = await context.db.time_zones.of(asker.person.id)
    limits, now = limits_of(config), context.services.clock()
    try:
        made = planned(wanted, when, now, zone, limits)
        added = await context.db.schedules.add(made, limits.per_user, limits.per_server)
        return _added(stored(added, limits), zone)
    except NOT_PLANNED as error:
        raise CommandRefusedError(error.args[0]) from None


def _added(record: ScheduleRecord, zone: str | None) -> str:
    times = next_times(record, TIMES_SHOWN)
    parts = [translated(ADDED[record.kind], number=record.id, when=_moment(times[0].timestamp()))]
    if len(times) > 1:
        later = ", ".join(f"<t:{int(one.timestamp())}:f>" for one in times[1:])
        parts.append(translated(AGAIN, times=later))
    if zone is not None:
        parts.append(translated(BY_CLOCKS_OF, zone=zone))
    return " ".join(parts)


def _moment(seconds: float) -> str:
    return f"<t:{int(seconds)}:F> (<t:{int(seconds)}:R>)"


# -- the list ------------------------------------------------------------------------------------


async def list_schedules(interaction: Interaction, whose: Whose) -> str:
    context, asker = context_of(interaction), asker_of(interaction)
    records = await _known(context, asker, whose)
    if not records:
        return translated(NONE_OF_YOURS if whose == "mine" else NONE_HERE)
    lines = [_line(one, whose, interaction, asker) for one in records[:MOST_SHOWN]]
    more = len(records) - MOST_SHOWN
    if more > 0:
        lines.append(translated("… and {more} more", more=more))
    return "\n".join(lines)


async def _known(context: BotContext, asker: CommandUser, whose: Whose) -> Sequence[ScheduleRecord]:
    """Return the user's schedules in this server, or in direct messages all of them."""
    if whose == "server":
        asker.must_manage()
        return await context.db.schedules.of_server(asker.server_id) if asker.server_id else ()
    theirs = await context.db.schedules.of_user(asker.person.id)
    return [one for one in theirs if asker.server_id in (0, one.server_id)]


def _line(
    record: ScheduleRecord, whose: Whose, interaction: Interaction, asker: CommandUser
) -> str:
    parts = [f"**#{record.id}**", "⏰" if record.kind == "reminder" else "▶️"]
    if record.is_paused:
        reason = f" ({translated(record.problem)})" if record.problem else ""
        parts.append(f"{translated(IS_PAUSED)}{reason}")
    elif record.next_at is not None:
        parts.append(f"<t:{int(record.next_at.timestamp())}:f>")
    parts += ["🔁"] if record.rule is not None else []
    if whose == "server":
        parts.append(f"<@{record.user_id}>")
    if record.channel_id != asker.channel_id:
        parts.append(f"<#{record.channel_id}>")
    return f"{' '.join(parts)}: {_shown_text(record, interaction, asker)}"


def _shown_text(record: ScheduleRecord, interaction: Interaction, asker: CommandUser) -> str:
    """Return the text if the user may read it: other people's only in channels that they see."""
    is_theirs = record.user_id == asker.person.id
    if is_theirs or visible_channel(interaction, record.channel_id) is not None:
        return shortened(plain(record.text), LINE_LIMIT)
    return translated(HIDDEN)


# -- one of them ---------------------------------------------------------------------------------


async def _one(context: BotContext, asker: CommandUser, number: int) -> ScheduleRecord:
    """Return a schedule that the user may change: their own, or one of a server they manage."""
    record = await context.db.schedules.get(number)
    if record is None or not _may_change(record, asker):
        raise CommandRefusedError(translated(NO_SUCH))
    return record


def _may_change(record: ScheduleRecord, asker: CommandUser) -> bool:
    manages = bool(asker.server_id) and asker.may_manage and record.server_id == asker.server_id
    return manages or record.user_id == asker.person.id


async def remove_schedule(context: BotContext, asker: CommandUser, number: int) -> str:
    record = await _one(context, asker, number)
    await context.db.schedules.delete(record.id)
    return translated(REMOVED, number=record.id) + await erasure_note(context)


async def pause_schedule(context: BotContext, asker: CommandUser, number: int) -> str:
    record = await _one(context, asker, number)
    problem = "" if record.user_id == asker.person.id else PAUSED_BY_MANAGER.template
    await context.db.schedules.change(
        record.id, is_paused=True, next_at=record.next_at, problem=problem
    )
    return translated(PAUSED, number=record.id)


async def resume_schedule(context: BotContext, asker: CommandUser, number: int) -> str:
    record = await _one(context, asker, number)
    manages = asker.may_manage and record.server_id == asker.server_id
    if record.problem == PAUSED_BY_MANAGER.template and not manages:
        raise CommandRefusedError(translated(ONLY_MANAGERS))
    next_at = resumed_at(record, context.services.clock()) if record.is_paused else record.next_at
    if next_at is None:
        raise CommandRefusedError(translated(IS_OVER))
    if record.is_paused:
        await context.db.schedules.change(record.id, is_paused=False, next_at=next_at)
    return translated(RESUMED, number=record.id, when=_moment(next_at.timestamp()))


async def schedule_choices(interaction: Interaction, typed: str) -> Choices:
    context, asker = context_of(interaction), asker_of(interaction)
    records = list(await _known(context, asker, "mine"))
    if asker.server_id and asker.may_manage:
        mine = {one.id for one in records}
        others = await _known(context, asker, "server")
        records += [one for one in others if one.id not in mine]
    shown = ((f"#{one.id} {_shown_text(one, interaction, asker)}", str(one.id)) for one in records)
    return choices(typed, shown)


# -- time zones ----------------------------------------------------------------------------------


async def tell_zone(context: BotContext, asker: CommandUser, text: str) -> str:
    """Show, store or forget the user's time zone."""
    zones, now = context.db.time_zones, context.services.clock()
    if text.strip().casefold() == FORGET:
        await zones.forget(asker.person.id)
        return translated(ZONE_FORGOTTEN)
    if not text.strip():
        name = await zones.of(asker.person.id)
        return translated(NO_ZONE_YET) if name is None else _zone_words(FoundZone(name), now)
    try:
        found = found_zone(text, now)
    except ZoneError as error:
        raise CommandRefusedError(error.args[0]) from None
    await zones.store(asker.person.id, found.name)
    return _zone_words(found, now)


def _zone_words(found: FoundZone, now: datetime) -> str:
    there = now.astimezone(zone_of(found.name))
    words = translated(YOUR_ZONE, zone=found.name, time=f"{there:%H:%M}")
    if not found.places:
        return words
    return f"{words} {translated(AN_OFFSET, places=', '.join(found.places))}"


def zone_choices(typed: str, now: datetime) -> Choices:
    """Return zones whose name contains the text, or in which clocks show it now."""
    shown = clock_time(typed)
    if shown is None:
        names = dict.fromkeys((*WELL_KNOWN, *zone_names()))
        return choices(typed, ((name, name) for name in names))
    at, is_clear = shown
    halves = (at,) if is_clear else (at, at.replace(hour=(at.hour + 12) % 24))
    found = [name for half in halves for name in zones_at(half, now)[:12]]
    return choices(
        "", ((f"{name} ({now.astimezone(zone_of(name)):%H:%M})", name) for name in found)
    )


# -- birthdays -----------------------------------------------------------------------------------

ONLY_IN_SERVERS = translatable("Birthdays belong to a server: use this command there.")
NO_BIRTHDAY = translatable("I do not know your birthday here. Tell me a day and a month.")
YOUR_BIRTHDAY = translatable("Your birthday here: day {day} of month {month}.")
BIRTHDAY_FORGOTTEN = translatable("Your birthday is forgotten here.")
NO_SUCH_DAY = translatable("There is no such day.")


async def tell_birthday(
    context: BotContext, asker: CommandUser, day: int | None, month: int | None, *, forget: bool
) -> str:
    """Show, store or forget the user's birthday in this server."""
    birthdays, server_id, user_id = context.db.birthdays, asker.server_id, asker.person.id
    if not server_id:
        raise CommandRefusedError(translated(ONLY_IN_SERVERS))
    if forget:
        await birthdays.forget(server_id, user_id)
        return translated(BIRTHDAY_FORGOTTEN)
    if day is None or month is None:
        known = await birthdays.of(server_id, user_id)
        if known is None or day is not None or month is not None:
            return translated(NO_BIRTHDAY)
        return translated(YOUR_BIRTHDAY, day=known.day, month=known.month)
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(2000, month)[1]:
        raise CommandRefusedError(translated(NO_SUCH_DAY))
    await birthdays.store(Birthday(server_id, user_id, month, day))
    return translated(YOUR_BIRTHDAY, day=day, month=month)


# -- the commands --------------------------------------------------------------------------------


schedule = app_commands.Group(name="schedule", description="Reminders and tasks")
ITS_NUMBER = translatable("Its number in the list")


@schedule.command(description="Be reminded here, or have the bot do something")
@app_commands.describe(
    when="For example: in 20 minutes, tomorrow at 9, every monday at 17:30, 0 9 * * 1",
    text="What you want to be reminded of, or what the bot should do",
    what="Whether you are reminded, or the bot does it; reminder if left out",
)
async def add(
    interaction: Interaction,
    when: app_commands.Range[str, 1, LONGEST_TIME],
    text: app_commands.Range[str, 1, LONGEST_TEXT],
    what: What = "reminder",
) -> None:
    await answer(interaction, add_schedule(interaction, when, text, what))


@schedule.command(name="list", description="Show what you have scheduled")
@app_commands.describe(whose="Yours, or everybody's in this server (needs Manage Server)")
async def list_(interaction: Interaction, whose: Whose = "mine") -> None:
    await answer(interaction, list_schedules(interaction, whose))


@schedule.command(description="Remove a reminder or a task")
@app_commands.describe(number=ITS_NUMBER)
async def remove(interaction: Interaction, number: Chosen) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, remove_schedule(context, asker, _number(number)))


@schedule.command(description="Pause a reminder or a task")
@app_commands.describe(number=ITS_NUMBER)
async def pause(interaction: Interaction, number: Chosen) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, pause_schedule(context, asker, _number(number)))


@schedule.command(description="Let a paused reminder or task go on")
@app_commands.describe(number=ITS_NUMBER)
async def resume(interaction: Interaction, number: Chosen) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, resume_schedule(context, asker, _number(number)))


def _number(typed: str) -> int:
    return number_in(typed.strip().removeprefix("#"))


@remove.autocomplete("number")
@pause.autocomplete("number")
@resume.autocomplete("number")
async def _schedules(interaction: Interaction, typed: str) -> Choices:
    return await schedule_choices(interaction, typed)


@app_commands.command(description="Your time zone, for reminders and tasks")
@app_commands.describe(
    zone="A place, an offset, or what your clock shows now; `none` forgets it; left out: shown"
)
async def timezone(interaction: Interaction, zone: app_commands.Range[str, 0, 60] = "") -> None:
    await answer(interaction, tell_zone(context_of(interaction), asker_of(interaction), zone))


@timezone.autocomplete("zone")
async def _zones(interaction: Interaction, typed: str) -> Choices:
    return zone_choices(typed, context_of(interaction).services.clock())


@app_commands.command(description="Your birthday, which a persona may notice in this server")
@app_commands.describe(
    day="The day, 1 to 31; left out: what is known is shown",
    month="The month, 1 to 12",
    forget="True: it is forgotten",
)
async def birthday(
    interaction: Interaction,
    day: app_commands.Range[int, 1, 31] | None = None,
    month: app_commands.Range[int, 1, 12] | None = None,
    forget: bool = False,
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, tell_birthday(context, asker, day, month, forget=forget))


COMMANDS: tuple[Command | app_commands.Group, ...] = (schedule, timezone, birthday)
