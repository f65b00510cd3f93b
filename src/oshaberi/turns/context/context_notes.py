"""Writes notes for a model about the channel and about its memories. Pure.

All of it comes from other people (names, topics, memories), so it is never system text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from oshaberi.conversation.conversation_messages import ChannelInfo, Person
from oshaberi.conversation.transcript_lines import (
    TranscriptNames,
    handle_of,
    indented,
    plain_name,
    reserved_names,
    shortened,
)
from oshaberi.storage.stored_records import Exchange, Fact, PersonaRecord

MOST_PEOPLE = 40
MOST_TOPIC = 300
MOST_TEXT = 1500


def place_note(
    channel_info: ChannelInfo,
    personas: Sequence[PersonaRecord],
    persona: PersonaRecord,
    now: datetime,
) -> str:
    """Describe where the conversation is and who takes part."""
    lines = ["Notes about this conversation:", f"- {_place(channel_info)}"]
    if channel_info.channel_topic:
        lines.append(f"- Topic of the channel: {shortened(channel_info.channel_topic, MOST_TOPIC)}")
    lines.append(f"- Date: {now:%A, %d %B %Y}")
    people = [person for person in channel_info.people if not person.is_bot][:MOST_PEOPLE]
    if people:
        names = TranscriptNames(people, reserved_names(personas, channel_info.bot_name))
        lines.append(f"- People: {', '.join(_person(p, names.of(p)) for p in people)}")
    others = [plain_name(one.name) for one in personas if one.name != persona.name]
    if others:
        lines.append(f"- Other characters here: {', '.join(others)}")
    return "\n".join(lines)


def memory_note(
    facts: Sequence[Fact], exchanges: Sequence[Exchange], since: datetime | None
) -> str:
    """List the facts, and what the history from `since` on does not show of the exchanges."""
    lines = []
    if facts:
        lines.append("Notes that you were asked to keep:")
        lines += [f"- {indented(fact.text)}" for fact in facts]
    told = [words for one in exchanges if (words := _exchange(one, since))]
    if told:
        lines.append("Notes about earlier talks in this channel, oldest first:")
        lines += [f"- {words}" for words in told]
    return "\n".join(lines)


def _place(channel_info: ChannelInfo) -> str:
    if not channel_info.server_name:
        return "Place: a direct message"
    channel = plain_name(channel_info.channel_name)
    return f"Place: the channel #{channel} of the server {plain_name(channel_info.server_name)}"


def _person(person: Person, name: str) -> str:
    handle = handle_of(person)
    if not handle.strip() or handle.casefold() == person.name.casefold():
        return name
    return f"{name} (also @{plain_name(handle)})"


def _exchange(one: Exchange, since: datetime | None) -> str:
    kept = f"kept aside: {_told(one.details)}" if one.details else ""
    if since is not None and one.at is not None and _comparable(one.at, since) >= since:
        return f"asked {_told(one.asked, 120)}; {kept}" if kept else ""
    answer = f"asked {_told(one.asked)}; {one.persona or 'you'} answered {_told(one.answered)}"
    return f"{answer}; {kept}" if kept else answer


def _told(text: str, most: int = MOST_TEXT) -> str:
    return f'"{shortened(text, most)}"'


def _comparable(at: datetime, other: datetime) -> datetime:
    """Give `at` the time zone of `other`. Some databases drop the zone; all times are UTC."""
    return at if (at.tzinfo is None) == (other.tzinfo is None) else at.replace(tzinfo=other.tzinfo)
