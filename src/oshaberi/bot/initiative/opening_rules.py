"""When a persona may start a conversation by itself, and what the model is told then. Pure."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from math import sqrt
from typing import Literal

from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.conversation.persona_options import is_awake
from oshaberi.bot.conversation.transcript import plain_name, plain_words
from oshaberi.bot.schedules.zones import zone_of
from oshaberi.bot.storage.records import Birthday, PersonaRecord

Kind = Literal["silence", "joined", "birthday", "event"]
WHY = "opening"
"""The first word of the reason for which a persona speaks first; the second is the kind."""
SHORTEST_SILENCE = timedelta(minutes=10)
LONGEST_FACTOR = 4
"""After the shortest silence times this number, the persona is certain to speak."""
WAKING_UP = timedelta(hours=1)
"""It speaks within this time after waking up, not on the minute."""
CONGRATULATED = range(9, 21)
"""The hours in which a birthday is noticed, in the time zone of the person."""
LONGEST_NAME = 100
_SILENCE = (
    "It is {now}. Nobody has written here for {silence}. If you feel like it, begin to talk: take "
    "up something that was said, or something new. Speak to everybody, and do not ask why it is "
    "quiet."
)
_JOINED = "{name} has just joined this server. Welcome them in a sentence or two."
_BIRTHDAY = "Today is the birthday of {name}. Congratulate them in a sentence or two."
EVENT_WORDS = (
    "An event of this server begins now. Tell everybody in a sentence or two. What follows is its "
    "name, which a member wrote."
)
EVENT = Person(0, "event")
"""Quotes the name of an event: other people's words are never our instructions."""


def moment_of_id(message_id: int) -> datetime:
    """Return when a message was written."""
    return datetime.fromtimestamp(((message_id >> 22) + 1_420_070_400_000) / 1000, UTC)


def opening_time(channel_id: int, newest_id: int, after_minutes: int) -> datetime:
    """Return when a persona begins if nobody writes after this message.

    The chance grows evenly with the silence, from none to certainty. It is drawn from the message's
    id, so every look in every process gives the same result for one silence.
    """
    after = max(timedelta(minutes=after_minutes), SHORTEST_SILENCE)
    drawn = _drawn("silence", channel_id, newest_id)
    return moment_of_id(newest_id) + after * (1 + (LONGEST_FACTOR - 1) * sqrt(drawn))


def _drawn(*what: object) -> float:
    """Return a number below 1 that is always the same for the same values."""
    digest = hashlib.sha256(" ".join(map(str, what)).encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def is_up(persona: PersonaRecord, channel_id: int, newest_id: int, now: datetime) -> bool:
    """Return whether a persona is awake, and has been for a while (drawn from the message's id)."""
    woke = WAKING_UP * _drawn("waking", channel_id, newest_id)
    return is_awake(persona, now) and is_awake(persona, now - woke)


def is_birthday(birthday: Birthday, zone: str, now: datetime) -> bool:
    """Return whether it is somebody's birthday, at a decent hour.

    In other years, 29 February is celebrated on 28 February.
    """
    there = now.astimezone(zone_of(zone))
    if there.hour not in CONGRATULATED or birthday.greeted_year >= there.year:
        return False
    today = (there.month, there.day)
    if (birthday.month, birthday.day) == (2, 29) and today == (2, 28):
        return (there + timedelta(days=1)).month == 3
    return today == (birthday.month, birthday.day)


def days_around(now: datetime) -> tuple[tuple[int, int], ...]:
    """Return today's dates anywhere on Earth (month and day), with 29 February a day early."""
    days = {(now + timedelta(days=ahead)).date() for ahead in (-1, 0, 1)}
    found = {(day.month, day.day) for day in days}
    return tuple(sorted(found | ({(2, 29)} if (2, 28) in found else set())))


def silence_words(newest_id: int, now: datetime) -> str:
    minutes = (now - moment_of_id(newest_id)) // timedelta(minutes=1)
    silence = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
    return _SILENCE.format(now=f"{now:%A, %d %B %Y, %H:%M} UTC", silence=silence)


def joined_words(name: str) -> str:
    return _JOINED.format(name=plain_name(name))


def birthday_words(name: str) -> str:
    return _BIRTHDAY.format(name=plain_name(name))


def event_name(name: str) -> str:
    return plain_words(name)[:LONGEST_NAME]
