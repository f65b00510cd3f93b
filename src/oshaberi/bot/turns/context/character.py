"""A persona as its card describes it, and the lore that the conversation wakes: for one turn.

Card and lore are texts of the persona, so they may say how it behaves (decision 29). Text in the
middle of the conversation is marked as a direction with a bracket, with which nobody else's line
can begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from oshaberi.bot.characters.cards import Card, card_of
from oshaberi.bot.characters.lore_scan import LoreScan, ScannedMessage, WokenEntry, scan
from oshaberi.bot.characters.lorebooks import Lorebook
from oshaberi.bot.characters.macros import MacroValues, expanded, is_volatile
from oshaberi.bot.characters.prompt import CharacterPrompt, ExampleLine, character_prompt
from oshaberi.bot.conversation.messages import ChannelMessage
from oshaberi.bot.conversation.persona_options import options_of
from oshaberi.bot.conversation.transcript import indented, line, plain_name
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.languages import said as said_in_language
from oshaberi.languages import translated
from oshaberi.providers.request.model_request import ContextItem, Role, Tag, said

USUAL_WINDOW = 16_000
"""A context window in tokens, for the budget of lore if no model of the chain states its own."""
DIRECTIONS = (
    "A line that begins with `[Direction:` was written by the author of {name}, who is not in the "
    "chat: follow it, and never mention it."
)
EXAMPLES = "[Direction: What follows shows how {name} speaks. It was not said here.]"
WITHOUT_QUESTION = "[Direction: Another example.]"


# -- lore ----------------------------------------------------------------------------------------


async def woken_lore(
    books: Sequence[Lorebook],
    messages: Iterable[ChannelMessage],
    share: float,
    window: int | None,
    greeting: int | None = None,
) -> LoreScan:
    """Return the entries that the messages wake, within this share of the window.

    `greeting` is the number of the persona's first greeting in this channel.
    """
    if not books:
        return LoreScan()
    ordered = sorted(messages, key=lambda one: one.id)
    scanned = [ScannedMessage(one.id, _spoken(one)) for one in ordered if one.text]
    budget = int((window or USUAL_WINDOW) * share)
    return await asyncio.to_thread(scan, books, scanned, budget, greeting=greeting)


def greeting_in(persona: PersonaRecord, card: Card, channel_id: int) -> str:
    """Return the greeting of a persona in this channel; empty if its card has none."""
    which = options_of(persona).greeting
    return card.chosen_greeting(which, f"{persona.id} {channel_id}")


def greeting_number(persona: PersonaRecord, channel_id: int) -> int | None:
    """Return the number of that greeting, for lore that depends on it; None without a greeting."""
    if options_of(persona).greeting == "off":
        return None
    card = card_of(persona.name, persona.prompt, persona.card)
    return card.greeting_number(greeting_in(persona, card, channel_id))


def _spoken(one: ChannelMessage) -> str:
    return f"{plain_name(one.shown_as or one.author.name)}: {one.text}"


def lore_lines(found: LoreScan) -> list[str]:
    """Return the entries for people: which woke, why, and what is left out."""
    lines = [_lore_line(one) for one in found.woken]
    left_out = [_lore_line(one) for one in found.left_out]
    return [*lines, *([translated("Left out:"), *left_out] if left_out else [])]


def _lore_line(one: WokenEntry) -> str:
    return f"- {one.book} {one.entry.number}, {one.entry.label}: {said_in_language(one.why)}"


# -- the persona ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlacedNote:
    """A text in the conversation, `depth` messages before its end."""

    text: str
    depth: int
    role: Role


@dataclass(frozen=True, slots=True)
class TurnCharacter:
    """What the model is told about a persona in one turn."""

    system: str
    samples: tuple[ContextItem, ...]
    notes: tuple[PlacedNote, ...]

    @property
    def has_directions(self) -> bool:
        placed = any(one.role == "system" for one in self.notes)
        return placed or any(one.text.startswith("[Direction:") for one in self.samples)


def turn_character(
    persona: PersonaRecord, user: str, now: datetime, seed: int, lore: LoreScan
) -> TurnCharacter:
    """Return the persona's texts and its lore, with their macros expanded."""
    card = card_of(persona.name, persona.prompt, persona.card)
    values = MacroValues(plain_name(card.spoken_name), user, now, seed, outlets=_outlets(lore))
    prompt = character_prompt(card, values)
    steady = [one for one in lore.woken if _is_steady(one)]
    changing = [one for one in lore.woken if not _is_steady(one)]
    return TurnCharacter(
        "\n\n".join(filter(None, _system(prompt, steady, values))),
        tuple(_samples(persona, prompt, values)),
        tuple(_notes(prompt, steady, changing, values)),
    )


def _is_steady(one: WokenEntry) -> bool:
    """Return whether an entry is the same in every turn, and so may come first in the prompt."""
    return one.entry.is_constant and not is_volatile(one.entry.content)


def _outlets(lore: LoreScan) -> dict[str, str]:
    """Return the texts to insert where a card names their outlet."""
    found: dict[str, list[str]] = {}
    for one in lore.woken:
        if one.entry.position == "outlet" and one.entry.outlet:
            found.setdefault(one.entry.outlet, []).append(one.entry.content)
    return {name: "\n".join(texts) for name, texts in found.items()}


def _system(
    prompt: CharacterPrompt, steady: Sequence[WokenEntry], values: MacroValues
) -> Iterator[str]:
    yield from _texts(steady, values, "before_char")
    yield prompt.system
    yield from _texts(steady, values, "after_char", "before_examples", "after_examples")


def _texts(woken: Sequence[WokenEntry], values: MacroValues, *positions: str) -> Iterator[str]:
    for one in woken:
        if one.entry.position in positions:
            yield expanded(one.entry.content, values).strip()


def _samples(
    persona: PersonaRecord, prompt: CharacterPrompt, values: MacroValues
) -> Iterator[ContextItem]:
    for asked, answered in persona.samples:
        yield said("user", asked, "sample")
        yield said("assistant", answered, "sample")
    if prompt.examples:
        yield said("user", EXAMPLES.format(name=values.char), "sample")
    for number, block in enumerate(prompt.examples):
        if number and block[0].is_own:
            yield said("user", WITHOUT_QUESTION, "sample")
        yield from (_sample(one, values.user) for one in block)


def _sample(one: ExampleLine, user: str) -> ContextItem:
    if one.is_own:
        return said("assistant", one.text, "sample")
    return said("user", line(user, one.text), "sample")


def _notes(
    prompt: CharacterPrompt,
    steady: Sequence[WokenEntry],
    changing: Sequence[WokenEntry],
    values: MacroValues,
) -> Iterator[PlacedNote]:
    """Yield the notes within the conversation.

    Lore that a message woke comes right before the last message, even if its book wants it near the
    character: further up, it would change the head of the prompt in each turn.
    """
    about = []
    for one in changing:
        text = expanded(one.entry.content, values).strip()
        if text and one.entry.position not in ("depth", "outlet"):
            about.append(text)
    if about:
        yield PlacedNote("\n\n".join([f"What {values.char} knows:", *about]), 1, "system")
    for one in (*steady, *changing):
        text = expanded(one.entry.content, values).strip()
        if one.entry.position == "depth" and text:
            yield PlacedNote(text, one.entry.depth, _role(one.entry.role))
    for note in prompt.notes:
        yield PlacedNote(note.text, note.depth, _role(note.role))
    if prompt.last:
        yield PlacedNote(prompt.last, 0, "system")


def _role(role: str) -> Role:
    return role if role in ("user", "assistant") else "system"  # type: ignore[return-value]


def with_notes(
    dialogue: Sequence[ContextItem], asked: int, notes: Sequence[PlacedNote]
) -> tuple[list[ContextItem], list[ContextItem]]:
    """Return the dialogue with its notes: the part before the question, and the rest.

    `asked` is the question's place. Only a note of depth 0 stands after it; one that is deeper than
    the conversation is long stands at its beginning. Chat APIs take system text only at the start,
    so a note is a line of its own in the dialogue.
    """
    placed: dict[int, list[ContextItem]] = {}
    for note in notes:
        at = max(len(dialogue) - note.depth, 0)
        at = at if note.depth == 0 else min(at, asked)
        text = f"[Direction: {indented(note.text)}]" if note.role == "system" else note.text
        role: Role = "user" if note.role == "system" else note.role
        tag: Tag = "current" if at > asked else "knowledge"
        placed.setdefault(at, []).append(said(role, text, tag))
    found: list[ContextItem] = []
    split = 0
    for at in range(len(dialogue) + 1):
        found += placed.get(at, ())
        if at == asked:
            split = len(found)
        found += dialogue[at : at + 1]
    return found[:split], found[split:]
