"""The text engine's settings for a persona in this conversation, and what replies to what. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from oshaberi.bot.conversation.messages import Person, TurnChannel
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.channel_queue import TurnRequest
from oshaberi.bot.turns.context.surroundings import TurnSurroundings
from oshaberi.bot.turns.personas import MessageAttribution
from oshaberi.delivery.response import ReplyRule, ResponseState
from oshaberi.text.config import Known, Persona, Sprite, TextConfig

# Builds the text engine's settings for a persona in this conversation. Pure.


_NAME = re.compile(r"(?<!<)(?<!<a):(\w+):(?!\d)")
_TAG = re.compile(r"<a?:(\w+):\d+>")


def text_config(base: TextConfig, around: TurnSurroundings) -> TextConfig:
    """Return the server's settings with the persona, people, emoji and recent messages."""
    known = _known(around)
    return replace(
        base,
        persona=_with_own_names(persona_of(around.persona), around, known),
        known=tuple(known),
        emojis=around.channel_info.emojis,
        recent_bot_messages=_recent(around, base.emoji_unique_lookback),
        seed=around.newest.id,
    )


def persona_of(record: PersonaRecord) -> Persona:
    return Persona(
        record.name,
        record.aliases,
        is_alter=not record.is_default,
        avatar_url=record.avatar_url,
        sprites=tuple(Sprite(s.name, s.avatar_url, s.is_identity) for s in record.sprites),
    )


def _with_own_names(persona: Persona, around: TurnSurroundings, known: Sequence[Known]) -> Persona:
    """Add the names by which the model may label its own words (spec 06 S4).

    These are the bot's name, the persona's trigger words and, for an alter, the default
    persona's name.
    """
    defaults = [one.name for one in around.personas if one.is_default and persona.is_alter]
    names = (*persona.aliases, around.channel_info.bot_name, *around.persona.triggers, *defaults)
    others = {name.casefold() for one in known if one.name not in defaults for name in one.names}
    own = [name for name in names if name.strip() and name.casefold() not in others]
    return replace(persona, aliases=tuple(dict.fromkeys(own)))


def speakers(config: TextConfig) -> tuple[str, ...]:
    """Return the names for which the model must not speak."""
    persona = config.persona
    own = set() if persona is None else {name.casefold() for name in persona.names}
    names = (name for one in config.known for name in one.names if name.casefold() not in own)
    return tuple(dict.fromkeys(names))


def _known(around: TurnSurroundings) -> list[Known]:
    people: dict[int, Person] = {person.id: person for person in around.channel_info.people}
    for incoming in around.asked:
        if not incoming.said.by_us:
            people.setdefault(incoming.user_id, incoming.said.author)
    writers, speakers = _participants(around)
    known = [
        Known(
            person.name,
            "user",
            str(person.id),
            tuple(filter(str.strip, person.handles)),
            person.avatar_url,
            takes_part=person.id in writers,
        )
        for person in people.values()
        if person.name.strip()
    ]
    others = [one for one in around.personas if one.name != around.persona.name]
    return known + [
        Known(
            one.name,
            "persona",
            aliases=one.aliases,
            avatar_url=one.avatar_url,
            takes_part=one.name in speakers,
        )
        for one in others
    ]


def _participants(around: TurnSurroundings) -> tuple[set[int], set[str]]:
    """Return the ids of the people who wrote, and the names of the personas that spoke."""
    reader = MessageAttribution(
        around.personas, around.channel_info.bot_name, around.sprites, around.tables
    )
    asked = (incoming.said for incoming in around.asked)
    everything = (*around.channel_info.history, *asked)
    return (
        {one.author.id for one in everything if not one.by_us},
        {reader.read(one).persona for one in everything if one.by_us},
    )


def _recent(around: TurnSurroundings, lookback: int) -> tuple[str, ...]:
    """Return the bot's last messages, with emoji in Discord's syntax."""
    if not lookback:
        return ()
    tags = {found[1]: tag for tag in around.channel_info.emojis if (found := _TAG.fullmatch(tag))}
    texts = [one.text for one in around.history if one.by_us][-lookback:]
    return tuple(_NAME.sub(lambda found: tags.get(found[1], found[0]), text) for text in texts)


# Applies `reply_mode`: which messages of an answer reply to the question (spec 09).


def may_reply(turn_request: TurnRequest, turn_channel: TurnChannel, mode: str) -> bool:
    """Return whether a message of the answer may reply. In direct messages only `all` does."""
    is_direct = not turn_channel.server_id
    return turn_request.answering is not None and mode != "off" and (not is_direct or mode == "all")


def response_to(turn_request: TurnRequest, turn_channel: TurnChannel, mode: str) -> ResponseState:
    """Return the state of a new response. With `auto` the channel is checked before sending."""
    asked_id = turn_request.newest.said.id

    def is_due() -> bool:
        newest_id = turn_channel.newest_message_id
        return mode != "auto" or newest_id is None or newest_id > asked_id

    return ResponseState(reply_rule=ReplyRule(is_due, every=mode == "all"))
