"""Builds the context items that a model is shown in one turn. Pure (spec 01, spec 08).

Only our own words and the persona's prompt are system text. Everything that others wrote, named or
asked the bot to remember is shown as something that was said.
"""

from __future__ import annotations

from collections.abc import Iterator

from oshaberi.providers.request.context_items import ContextItem, said
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.context.context_dialogue import ContextDialogue
from oshaberi.turns.context.context_notes import memory_note, place_note
from oshaberi.turns.context.summary_prompt import summary_note
from oshaberi.turns.context.system_text import rules
from oshaberi.turns.context.turn_surroundings import TurnSurroundings


def context_items(around: TurnSurroundings) -> tuple[ContextItem, ...]:
    """Return all items: the rules, the persona, the notes, then the conversation."""
    return (
        said("system", _rules(around), "system"),
        *_persona(around.persona),
        *_notes(around),
        *ContextDialogue(around).items(),
    )


def without_oldest(items: tuple[ContextItem, ...]) -> tuple[ContextItem, ...]:
    """Drop the older half of the history, in whole pairs of question and answer."""
    old = [number for number, item in enumerate(items) if item.tag == "history"]
    drop = -(-len(old) // 2)
    while drop < len(old) and items[old[drop]].role == "assistant":
        drop += 1
    dropped = set(old[:drop])
    return tuple(item for number, item in enumerate(items) if number not in dropped)


def _rules(around: TurnSurroundings) -> str:
    return rules(
        around.persona,
        around.channel_info,
        around.silence_marker,
        is_uninvited=around.is_uninvited,
    )


def _persona(persona: PersonaRecord) -> Iterator[ContextItem]:
    if persona.prompt.strip():
        yield said("system", persona.prompt.strip(), "persona")
    for asked, answered in persona.samples:
        yield said("user", asked, "sample")
        yield said("assistant", answered, "sample")


def _notes(around: TurnSurroundings) -> Iterator[ContextItem]:
    yield said(
        "user",
        place_note(around.channel_info, around.personas, around.persona, around.now),
        "knowledge",
    )
    history = around.history
    since = history[0].at if history else None
    memory = memory_note(around.facts, around.exchanges, since)
    if memory:
        yield said("user", memory, "memory")
    if around.summary is not None:
        yield summary_note(around.summary)
