"""What a model is told about a character, in the order of the prompt.

Description, personality and scenario are system text; examples come as dialogue; notes are inserted
at a depth, and a card's instructions after the history come last. A line with a macro that differs
in each turn is moved down to the notes, so that everything above can be cached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from oshaberi.bot.characters.cards import Card, DepthNote
from oshaberi.bot.characters.macros import MacroValues, expanded, is_volatile

MOST_EXAMPLES = 100
_START = re.compile(r"^[ \t]*<START>[ \t]*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExampleLine:
    """A line of the sample dialogue. `is_own`: the character says it."""

    is_own: bool
    text: str


@dataclass(frozen=True, slots=True)
class CharacterPrompt:
    """The texts of a character for one turn, with their macros expanded."""

    system: str
    """Who it is: description, personality, scenario, and its own system prompt."""
    examples: tuple[tuple[ExampleLine, ...], ...] = ()
    """One tuple for each block of the sample dialogue."""
    notes: tuple[DepthNote, ...] = ()
    """Notes, with their distance from the end in messages."""
    last: str = ""
    """The text after the history."""


def character_prompt(card: Card, values: MacroValues) -> CharacterPrompt:
    """Return what the model is told of the character."""
    low: list[str] = []
    parts = [
        _steady(card.system_prompt, values, low),
        _steady(card.description, values, low),
        _labelled("Personality", _steady(card.personality, values, low)),
        _labelled("Scenario", _steady(card.scenario, values, low)),
    ]
    notes = [DepthNote("\n".join(low), 1)] if low else []
    if card.depth_note is not None:
        notes.append(replace(card.depth_note, text=expanded(card.depth_note.text, values).strip()))
    return CharacterPrompt(
        "\n\n".join(filter(None, parts)),
        # Above the history: dice rolled there keep their value, so that it can be cached.
        tuple(example_blocks(expanded(card.examples, replace(values, seed=0)), values)),
        tuple(note for note in notes if note.text),
        expanded(card.post_history_instructions, values).strip(),
    )


def _steady(text: str, values: MacroValues, low: list[str]) -> str:
    """Return the text without its volatile lines, which are added to `low`."""
    if not text:
        return ""
    if not is_volatile(text):
        return expanded(text, values).strip()
    kept: list[str] = []
    for line in text.splitlines():
        (low if is_volatile(line) else kept).append(expanded(line, values))
    return "\n".join(kept).strip()


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if text else ""


def example_blocks(text: str, values: MacroValues) -> Iterator[tuple[ExampleLine, ...]]:
    """Yield the blocks of a sample dialogue. A line without a name continues the one above."""
    lines = 0
    for block in _START.split(text):
        found = list(_example_lines(block, values))
        lines += len(found)
        if found and lines <= MOST_EXAMPLES:
            yield tuple(found)


def _example_lines(block: str, values: MacroValues) -> Iterator[ExampleLine]:
    labels = {f"{values.char}:".casefold(): True, f"{values.user}:".casefold(): False}
    is_own, said = True, list[str]()
    for line in block.strip().splitlines():
        name, colon, rest = line.strip().partition(":")
        speaker = labels.get(f"{name.strip()}:".casefold()) if colon else None
        if speaker is None:
            said.append(line)
            continue
        yield from _line_of(is_own, said)
        is_own, said = speaker, [rest.strip()]
    yield from _line_of(is_own, said)


def _line_of(is_own: bool, said: list[str]) -> Iterator[ExampleLine]:
    text = "\n".join(said).strip()
    if text:
        yield ExampleLine(is_own, text)
