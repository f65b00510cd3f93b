"""The greeting of a persona: what its card says first, once in each channel that calls it.

It is a message of its own before the first answer. If the question says nothing but the persona's
name, the greeting is the answer, and no model is asked.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from oshaberi.bot.characters.cards import card_of
from oshaberi.bot.characters.macros import MacroValues, expanded
from oshaberi.bot.conversation.persona_options import options_of
from oshaberi.bot.conversation.transcript import plain_name
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.storage.repositories.personas import PersonaRepository
from oshaberi.bot.turns.admission.channel_queue import QueuedJob, sending
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.context.character import greeting_in
from oshaberi.bot.turns.name_calls import is_only_a_call

log = logging.getLogger(__name__)

WHY = "greeting"
LONGEST_GREETING = 6000
NEW_LINE = "\n"
_MENTION = re.compile(r"<@[!&]?\d{1,20}>|@\S{1,100}")


class Greetings:
    """Knows which personas have greeted which channels."""

    def __init__(
        self,
        personas: PersonaRepository,
        greeted: BoundedCache[tuple[int, int], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._personas = personas
        self._greeted = greeted
        self._clock = clock

    async def due(self, job: QueuedJob, persona: PersonaRecord) -> QueuedJob | None:
        """Return the job that sends the greeting if it is due, and store that it was; else None."""
        is_first = persona.id and job.is_message and not job.is_uninvited
        if not is_first or options_of(persona).greeting == "off":
            return None
        channel_id, question_id = job.turn_channel.channel_id, job.newest.said.id
        place = (persona.id, channel_id)
        text = "" if self._greeted.get(place) else greeting_text(persona, job, self._clock())
        if not text:
            return None
        try:
            is_due = await self._personas.begin_greeting(persona, channel_id, question_id)
        except StorageError as error:
            log.info("no greeting: %s", error)
            return None
        self._greeted.put(place, True)
        return sending(replace(job, why=WHY), text) if is_due else None


def greeting_text(persona: PersonaRecord, job: QueuedJob, now: datetime) -> str:
    """Return the greeting with its macros expanded; empty if the card has none."""
    card = card_of(persona.name, persona.prompt, persona.card)
    chosen = greeting_in(persona, card, job.turn_channel.channel_id)
    asker = plain_name(job.newest.said.author.name)
    values = MacroValues(plain_name(card.spoken_name), asker, now, job.newest.said.id)
    text = expanded(chosen, values).strip()
    if len(text) <= LONGEST_GREETING:
        return text
    start = text[:LONGEST_GREETING]
    return f"{start.rpartition(NEW_LINE)[0] or start}…"


def says_only_the_name(job: QueuedJob, persona: PersonaRecord) -> bool:
    """Return whether the question only calls the persona."""
    names = (persona.name, *persona.aliases, *persona.triggers, job.newest.bot_name)
    return all(
        not one.said.files and is_only_a_call(_MENTION.sub(" ", one.said.own_words), names)
        for one in job.asked
    )
