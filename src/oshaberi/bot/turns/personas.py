"""Which personas a text calls, which of them answer, and which one wrote an old message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Literal

from oshaberi.bot.characters.cards import card_of
from oshaberi.bot.conversation.messages import ChannelMessage, ChannelPath, IncomingMessage
from oshaberi.bot.conversation.persona_options import answers_in, is_awake
from oshaberi.bot.conversation.transcript import words_of
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.caches import StoredCache
from oshaberi.bot.turns.name_calls import place_of_call
from oshaberi.bot.turns.services.model_access import MOST_SERVERS, OperatorChoices
from oshaberi.text.normalize.pieces import is_spaced_letter
from oshaberi.text.normalize.webhook_names import webhook_username

Personas = tuple[PersonaRecord, ...]


class PersonaCache:
    """The personas of each server, kept until they are changed."""

    def __init__(self, db: Database, operator: OperatorChoices) -> None:
        self._db = db
        self._operator = operator
        self._known: StoredCache[int, Personas] = StoredCache(MOST_SERVERS, "personas")

    def forget(self, server_id: int) -> None:
        """Drop a server's personas, because they have changed."""
        self._known.forget(server_id)

    async def of(self, server_id: int) -> Personas:
        """Return a server's personas; without a default one, the operator's is added."""
        load = self._db.personas.of
        stored = await self._known.get(
            self._db.changes, server_id, server_id, lambda: load(server_id)
        )
        return _with_default(stored, self._operator.persona)

    async def default_of(self, server_id: int) -> PersonaRecord:
        return default_of(await self.of(server_id))


def _with_default(stored: Personas, house: PersonaRecord) -> Personas:
    if any(persona.is_default for persona in stored):
        return stored
    return (house, *(persona for persona in stored if persona.name != house.name))


# Calling a persona. A trigger must be a whole word, in any case; links, code and emoji call nobody.
_SILENT = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|<a?:\w+:\d+>|:\w+:", re.DOTALL)


def triggered_in(text: str, personas: Sequence[PersonaRecord]) -> tuple[PersonaRecord, ...]:
    """Return the personas whose trigger words are in the text, in the order of the text."""
    heard = _audible(text).casefold()
    return _in_order(personas, lambda one: [_place(heard, word) for word in one.triggers])


def called_in(
    text: str, personas: Sequence[PersonaRecord], *, by_any_name: bool
) -> tuple[PersonaRecord, ...]:
    """Return the personas that the text calls: by a trigger word, or by speaking to a name.

    With `by_any_name`, an alter's name counts wherever it is. The default persona's does not: it
    addresses the bot.
    """
    heard = _audible(text).casefold()

    def places(persona: PersonaRecord) -> list[int]:
        names = (persona.name, *persona.aliases)
        anywhere = names if by_any_name and not persona.is_default else ()
        found = [_place(heard, word) for word in (*persona.triggers, *anywhere)]
        return [*found, *(place_of_call(heard, name) for name in names)]

    return _in_order(personas, places)


def _in_order(
    personas: Sequence[PersonaRecord], places: Callable[[PersonaRecord], Iterable[int]]
) -> tuple[PersonaRecord, ...]:
    """Return the personas that have a place in a text, by their first one."""
    found = []
    for number, persona in enumerate(personas):
        first = min((place for place in places(persona) if place >= 0), default=-1)
        if first >= 0:
            found.append((first, number))
    return tuple(personas[number] for _, number in sorted(found))


def is_anybody_called(text: str, personas: Iterable[PersonaRecord], bot_name: str) -> bool:
    """Return whether the text speaks to a persona or the bot by name."""
    heard = _audible(text).casefold()
    names = (name for one in personas for name in (one.name, *one.aliases))
    return any(place_of_call(heard, name) >= 0 for name in (bot_name, *names))


def is_anybody_named(text: str, personas: Iterable[PersonaRecord], bot_name: str) -> bool:
    """Return whether the text has a name or trigger word of any persona, or the bot's name."""
    heard = _audible(text).casefold()
    ours = (word for one in personas for word in (one.name, *one.aliases, *one.triggers))
    return any(_place(heard, word) >= 0 for word in (bot_name, *ours))


def persona_called(name: str, personas: Iterable[PersonaRecord]) -> PersonaRecord | None:
    """Find a persona by its name, an alias, or its name as a webhook shows it."""
    wanted = name_key(name)
    for persona in personas:
        keys = {name_key(own) for own in (persona.name, *persona.aliases)}
        if wanted in keys | {name_key(webhook_username(persona.name))}:
            return persona
    return None


def default_of(personas: Sequence[PersonaRecord]) -> PersonaRecord:
    """Return the default persona; the first one if none is marked."""
    return next((persona for persona in personas if persona.is_default), personas[0])


def name_key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _audible(text: str) -> str:
    """Return the text without links, code and emoji, all of which contain a colon or a backtick."""
    return _SILENT.sub(" ", text) if ":" in text or "`" in text else text


def _place(heard: str, word: str) -> int:
    """Return the index of the word in the text; -1 if it is not there as a whole word."""
    word = word.strip().casefold()
    at = heard.find(word) if word else -1
    while at >= 0:
        if not (_runs_on(heard, at - 1, word[0]) or _runs_on(heard, at + len(word), word[-1])):
            return at
        at = heard.find(word, at + 1)
    return -1


def _runs_on(heard: str, beside: int, edge: str) -> bool:
    """Return whether the neighbouring letter belongs to the word. Some scripts have no spaces."""
    inside = 0 <= beside < len(heard)
    return inside and _is_letter(edge) and _is_letter(heard[beside])


def _is_letter(char: str) -> bool:
    return char == "_" or is_spaced_letter(char)


# Attributing an old message of the bot: this reverses what delivery does to a name (spec 06 S2,
# spec 07 webhook path and fallback).
BASE_FACE = "default"
"""The name of a persona's own avatar, where it needs one (username_alternation.py)."""

_BOLD_NAME = re.compile(r"\*\*((?:\\.|[^*\\\n])+)\*\*:\s?")
_DECORATED = re.compile(r"(?P<outer>.+) \((?P<inner>.+)\)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class AttributedSpeaker:
    """The persona of a message, its sprite or copied name, and its text without embeds."""

    persona: str
    modifier: str | None
    text: str


class MessageAttribution:
    """Attributes the bot's messages. `sprites` and `tables` are stored data by message id."""

    def __init__(
        self,
        personas: Sequence[PersonaRecord],
        bot_name: str,
        sprites: Mapping[int, tuple[str, str]],
        tables: Mapping[int, str],
    ) -> None:
        self._personas = personas
        self._bot_name = bot_name
        self._sprites = sprites
        self._tables = tables

    def read(self, said: ChannelMessage) -> AttributedSpeaker:
        words = self._tables.get(said.id) or words_of(replace(said, embeds=()))
        speaker = speaker_of(words, said.shown_as, self._bot_name, self._personas)
        worn = self._sprites.get(said.id)
        return speaker if worn is None else AttributedSpeaker(worn[0], worn[1], speaker.text)


def speaker_of(
    text: str, shown_as: str | None, bot_name: str, personas: Sequence[PersonaRecord]
) -> AttributedSpeaker:
    """Return the speaker of a message of the bot that was shown under this name."""
    if shown_as is None or name_key(shown_as) == name_key(bot_name):
        return _spoken_as_bot(text, personas)
    if (persona := persona_called(shown_as, personas)) is not None:
        if persona.is_default:
            return _spoken_as_bot(text, personas)
        return AttributedSpeaker(persona.name, None, text)
    worn = _worn(shown_as, personas)
    return (
        AttributedSpeaker(*worn, text)
        if worn is not None
        else AttributedSpeaker(shown_as, None, text)
    )


def _spoken_as_bot(text: str, personas: Sequence[PersonaRecord]) -> AttributedSpeaker:
    """Return the speaker of a message sent without a webhook, by the bold name in front."""
    default = default_of(personas)
    label = _BOLD_NAME.match(text)
    if label is None:
        return AttributedSpeaker(default.name, None, text)
    name = _ESCAPE.sub(r"\1", label[1])
    persona = persona_called(name, personas)
    worn = (persona.name, None) if persona is not None else _worn(name, personas)
    if worn is None:
        return AttributedSpeaker(default.name, None, text)
    return AttributedSpeaker(*worn, text[label.end() :])


def _worn(name: str, personas: Sequence[PersonaRecord]) -> tuple[str, str | None] | None:
    """Parse a shown name: `Tomori (mad)` is a sprite, `Kuro (Tomori)` an identity of Tomori."""
    found = _DECORATED.fullmatch(name)
    if found is None:
        return None
    outer, inner = found["outer"], found["inner"]
    if (persona := persona_called(outer, personas)) is not None:
        return persona.name, None if name_key(inner) == BASE_FACE else inner
    if (persona := persona_called(inner, personas)) is not None:
        return persona.name, outer
    return None


def who_answers(
    incoming: IncomingMessage,
    personas: Sequence[PersonaRecord],
    bot_name: str = "",
    uncalled: str = "",
) -> tuple[PersonaRecord, ...]:
    """Return the personas that answer: those that the message asks, in order.

    If it asks none, the one named `uncalled` answers (`answering_persona`), or the default.
    """
    named = persona_called(uncalled, personas) if uncalled else None
    asked = who_is_asked(incoming, personas, bot_name)
    return asked or (named or default_of(personas),)


def who_speaks_up(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord]
) -> tuple[PersonaRecord, ...]:
    """Return who answers a message that calls nobody, each by its talkativeness, in random order.

    The draw depends on the message alone, so that it always has the same result.
    """
    drawn = [(Random(f"{incoming.said.id} {one.name}").random(), one) for one in personas]
    willing = [(drew, one) for drew, one in drawn if drew < talkativeness_of(one)]
    return tuple(one for _drew, one in sorted(willing, key=lambda pair: pair[0]))


def who_is_asked(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], bot_name: str = ""
) -> tuple[PersonaRecord, ...]:
    """Return the persona that the message replies to, then those that it calls, in order.

    If the message addresses the bot, the name of a persona calls it wherever it is.
    """
    addressed = incoming.mentions_us or incoming.is_direct or _replied(incoming)
    called = called_in(incoming.said.own_words, personas, by_any_name=addressed)
    first = _replied_to(incoming, personas, bot_name)
    return tuple(dict.fromkeys([*([first] if first else []), *called]))


Silent = Literal["age_restricted", "not_here", "asleep"]
"""Why a persona may not answer."""


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Where and when personas would answer.

    `at` None: it does not matter whether they are awake.
    """

    path: ChannelPath
    is_age_restricted: bool
    at: datetime | None

    @classmethod
    def of(cls, incoming: IncomingMessage) -> AnswerPlace:
        """Return a message's place and time: a persona that slept then does not answer later."""
        return cls(incoming.path, incoming.is_age_restricted, incoming.said.at)

    def silences(self, persona: PersonaRecord) -> Silent | None:
        """Return why the persona may not answer here; None if it may."""
        if persona.is_age_restricted and not self.is_age_restricted:
            return "age_restricted"
        if not answers_in(persona, self.path):
            return "not_here"
        if self.at is not None and not is_awake(persona, self.at):
            return "asleep"
        return None


def allowed_in(personas: Sequence[PersonaRecord], place: AnswerPlace) -> tuple[PersonaRecord, ...]:
    """Return the personas that may answer there."""
    return tuple(one for one in personas if place.silences(one) is None)


def who_is_called(
    text: str, speaker: PersonaRecord, personas: Sequence[PersonaRecord]
) -> tuple[PersonaRecord, ...]:
    """Return the other personas that an answer calls by their trigger words."""
    others = [persona for persona in personas if persona.name != speaker.name]
    return triggered_in(text, others)


def who_joins_in(
    speaker: PersonaRecord, personas: Sequence[PersonaRecord], draw: Callable[[], float]
) -> tuple[PersonaRecord, ...]:
    """Return the other personas that join in by chance. `draw` returns a number below 1."""
    others = [persona for persona in personas if persona.name != speaker.name]
    return tuple(persona for persona in others if draw() < talkativeness_of(persona))


def talkativeness_of(persona: PersonaRecord) -> float:
    """Return the chance that a persona joins in, from its card; 0 if it has none."""
    if persona.card is None:
        return 0.0
    return card_of(persona.name, "", persona.card).talkativeness or 0.0


def _replied(incoming: IncomingMessage) -> bool:
    return incoming.replied is not None and incoming.replied.by_us


def _replied_to(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], bot_name: str
) -> PersonaRecord | None:
    replied = incoming.replied
    if replied is None or not replied.by_us:
        return None
    speaker = speaker_of(replied.text, replied.shown_as, bot_name, personas)
    return persona_called(speaker.persona, personas) or default_of(personas)
