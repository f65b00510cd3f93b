"""What a reminder says, and what the model is told about a task. Pure."""

from __future__ import annotations

from datetime import datetime

from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.conversation.transcript import plain_name
from oshaberi.bot.schedules.schedule_rules import Fate, Kind, id_of_due, why_of
from oshaberi.bot.schedules.zones import zone_of
from oshaberi.bot.storage.records import ScheduleRecord
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.languages import translatable, translated

REMINDER = translatable("⏰ {who}, you wanted to be reminded: {text}")
LATE = translatable("It was due {when}; I was not there.")
NOT_DONE = translatable(
    "⏰ {who}, I was not there {when} and did not do what you had scheduled: {text}"
)
_TASK = (
    "It is {now}. Nobody has just written. {name} scheduled what follows for this moment{again}: "
    "do it now, in this channel. Write only what is to be said, and ask nothing back."
)
_COME_BACK = (
    "It is {now}. Nobody has just written. You had decided to come back to {name} now, about what "
    "follows. If it no longer matters, say nothing of it."
)
_LATE_TASK = " It was due at {due}; you were not there."


def timestamp(moment: datetime, style: str = "f") -> str:
    """Return a moment as Discord shows it to each reader in their own time."""
    return f"<t:{int(moment.timestamp())}:{style}>"


def occasion_of(
    record: ScheduleRecord, due: datetime, fate: Fate, now: datetime, person: Person
) -> Occasion:
    """Return the occasion of a schedule that was due at that time, in the current language."""
    text, instruction = "", ""
    if fate == "told":
        text = translated(NOT_DONE, who=f"<@{person.id}>", when=timestamp(due), text=record.text)
    elif record.kind == "reminder":
        text = translated(REMINDER, who=f"<@{person.id}>", text=record.text)
        if fate == "late":
            text += "\n-# " + translated(LATE, when=timestamp(due))
    else:
        instruction = _instruction(record, due, fate, now, person)
    return Occasion(
        id=id_of_due(record.id, due),
        why=why_of(record.id),
        at=due,
        person=person,
        text=text,
        instruction=instruction,
        request="" if text else record.text,
        persona=record.persona,
        pings=frozenset({person.id}),
    )


def _instruction(
    record: ScheduleRecord, due: datetime, fate: Fate, now: datetime, person: Person
) -> str:
    kind: Kind = "follow_up" if record.kind == "follow_up" else "task"
    words = _COME_BACK if kind == "follow_up" else _TASK
    told = words.format(
        now=_moment(now, record.zone),
        name=plain_name(person.name),
        again=" and for later times" if record.rule else "",
    )
    return told + (_LATE_TASK.format(due=_moment(due, record.zone)) if fate == "late" else "")


def _moment(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(zone_of(zone)):%A, %d %B %Y, %H:%M} ({zone})"
