"""Finds which persona wrote an old message of the bot, with which sprite, and its original text.

Pure. It reverses what delivery does to a name (spec 06 S2, spec 07 webhook path and fallback).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oshaberi.conversation.conversation_messages import ChannelMessage
from oshaberi.conversation.transcript_lines import words_of
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.personas.trigger_words import default_of, name_key, persona_called

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
