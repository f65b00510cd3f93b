"""Finds personas that a text calls by name, alias or trigger word. Pure.

A trigger must be a whole word, in any case; links, code and emoji call nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.text.normalize.editable_ranges import is_spaced_letter
from oshaberi.text.normalize.names.webhook_usernames import webhook_username

_SILENT = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|<a?:\w+:\d+>|:\w+:", re.DOTALL)


def named_in(
    text: str, personas: Sequence[PersonaRecord], *, by_name: bool
) -> tuple[PersonaRecord, ...]:
    """Return the personas whose trigger words are in the text, in the order of the text.

    With `by_name`, an alter's name counts too. The default persona's name does not count: it
    addresses the bot.
    """
    heard = _audible(text).casefold()
    found: list[tuple[int, int]] = []
    for number, persona in enumerate(personas):
        names = (persona.name, *persona.aliases) if by_name and not persona.is_default else ()
        places = [_place(heard, word) for word in (*persona.triggers, *names)]
        first = min((place for place in places if place >= 0), default=-1)
        if first >= 0:
            found.append((first, number))
    return tuple(personas[number] for _, number in sorted(found))


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
    """Return the text without links, code and emoji. All of these contain a colon or a backtick."""
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
    """Tell whether the neighbouring letter belongs to the word. Some scripts have no spaces."""
    inside = 0 <= beside < len(heard)
    return inside and _is_letter(edge) and _is_letter(heard[beside])


def _is_letter(char: str) -> bool:
    return char == "_" or is_spaced_letter(char)
