"""Decides which personas answer a message, in which order (spec 08). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.personas.message_attribution import speaker_of
from oshaberi.turns.personas.trigger_words import default_of, named_in, persona_called


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


def who_is_asked(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], bot_name: str = ""
) -> tuple[PersonaRecord, ...]:
    """Return the persona that the message replies to, then those that it calls, in order.

    If the message addresses the bot, the name of a persona calls it too.
    """
    addressed = incoming.mentions_us or incoming.is_direct or _replied(incoming)
    called = named_in(incoming.said.own_words, personas, by_name=addressed)
    first = _replied_to(incoming, personas, bot_name)
    return tuple(dict.fromkeys([*([first] if first else []), *called]))


def allowed_in(
    personas: Sequence[PersonaRecord], is_age_restricted: bool
) -> tuple[PersonaRecord, ...]:
    """Return the personas, without age-restricted ones unless the channel is so too."""
    return tuple(one for one in personas if is_age_restricted or not one.is_age_restricted)


def who_is_called(
    text: str, speaker: PersonaRecord, personas: Sequence[PersonaRecord]
) -> tuple[PersonaRecord, ...]:
    """Return the other personas that an answer calls by their trigger words."""
    others = [persona for persona in personas if persona.name != speaker.name]
    return named_in(text, others, by_name=False)


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
