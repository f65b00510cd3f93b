"""The greeting of a persona: what its card says first, once in each channel that calls it.

It is a message of its own before the first answer. If the question says nothing but the persona's
name, the greeting is the answer, and no model is asked.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from random import Random

from oshaberi.bot.characters.cards import Card, card_of
from oshaberi.bot.characters.macros import MacroValues, expanded
from oshaberi.bot.conversation.persona_options import options_of
from oshaberi.bot.conversation.transcript import plain_name
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.channel_queue import QueuedJob
from oshaberi.bot.turns.name_calls import is_only_a_call
from oshaberi.bot.turns.services.turn_services import TurnServices

log = logging.getLogger(__name__)

WHY = "greeting"
LONGEST_GREETING = 6000
_MENTION = re.compile(r"<@[!&]?\d{1,20}>|@\S{1,100}")


async def due_greeting(
    services: TurnServices, job: QueuedJob, persona: PersonaRecord
) -> QueuedJob | None:
    """Return the job that sends the greeting if it is due, and store that it was; else None."""
    is_first = persona.id and job.is_message and not job.is_uninvited
    if not is_first or options_of(persona).greeting == "off":
        return None
    place, greeted = (persona.id, job.turn_channel.channel_id), services.notes.greeted
    text = "" if greeted.get(place) else greeting_text(persona, job, services)
    if not text:
        return None
    try:
        is_due = await services.db.personas.begin_greeting(
            persona, job.turn_channel.channel_id, job.newest.said.id
        )
    except StorageError as error:
        log.info("no greeting: %s", error)
        return None
    greeted.put(place, True)
    if not is_due:
        return None
    # It was written before, so nobody types it line by line.
    stream = job.settings.stream
    text_settings = replace(stream.text, humanizer_degree=0, aggregate_join="preserve")
    stream = replace(stream, text=text_settings)
    of_channel = job.settings.of_channel | {"humanizer_degree"}
    settings = replace(job.settings, stream=stream, of_channel=of_channel)
    return replace(job, kind="deliver", text=text, why=WHY, settings=settings)


def greeting_text(persona: PersonaRecord, job: QueuedJob, services: TurnServices) -> str:
    """Return the greeting with its macros expanded; empty if the card has none."""
    card = card_of(persona.name, persona.prompt, persona.card)
    channel_id = job.turn_channel.channel_id
    chosen = chosen_greeting(card, options_of(persona).greeting, seed=f"{persona.id} {channel_id}")
    asker = plain_name(job.newest.said.author.name)
    values = MacroValues(plain_name(card.spoken_name), asker, services.clock(), job.newest.said.id)
    text = expanded(chosen, values).strip()
    if len(text) <= LONGEST_GREETING:
        return text
    return f"{text[:LONGEST_GREETING].rpartition(chr(10))[0] or text[:LONGEST_GREETING]}…"


def chosen_greeting(card: Card, which: str, seed: str) -> str:
    """Return a greeting of the card: the first for groups, else the first; or any of them."""
    known = [*card.group_greetings, *card.own_greetings]
    if not known:
        return ""
    return Random(seed).choice(known) if which == "any" else known[0]


def says_only_the_name(job: QueuedJob, persona: PersonaRecord, bot_name: str) -> bool:
    """Return whether the question is no more than a call of the persona."""
    names = (persona.name, *persona.aliases, *persona.triggers, bot_name)
    return all(
        not one.said.files and is_only_a_call(_MENTION.sub(" ", one.said.own_words), names)
        for one in job.asked
    )
