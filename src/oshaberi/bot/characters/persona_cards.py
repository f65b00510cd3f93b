"""A card becomes a persona with its lorebook, and a persona becomes a card again.

What only this bot knows about a persona (trigger words, other names) travels in the card's
`extensions`, under a key of its own, so that another instance reads it and other programs keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from oshaberi.bot.characters.cards import Card, CardAsset, card_of, kept_card
from oshaberi.bot.characters.lorebooks import Lorebook, book_from
from oshaberi.bot.characters.macros import MacroValues
from oshaberi.bot.characters.prompt import character_prompt
from oshaberi.bot.conversation.persona_options import OPTIONS, checked_option, checked_options
from oshaberi.bot.conversation.transcript import name_problem
from oshaberi.bot.storage.records import LorebookRecord, PersonaRecord
from oshaberi.clocks import utc_now
from oshaberi.errors import ConfigError
from oshaberi.languages import language_now, said, translated, translated_count
from oshaberi.providers.request.token_estimate import text_tokens
from oshaberi.text.normalize.webhook_names import MAX_UNITS

OURS = "oshaberi"
MOST_OWN = 20
MOST_NOTES = 600
BOOK_NAME = 80
_NOT_RUN = ("regex_scripts", "TavernHelper_scripts", "risuai")
"""Extensions that are programs of other applications: kept, never run."""


@dataclass(frozen=True, slots=True)
class ImportedPersona:
    """What a card stores: the persona, and the lorebook inside it if it has one."""

    persona: PersonaRecord
    book: LorebookRecord | None


def persona_of_card(card: Card, server_id: int, name: str, taken: Iterable[str]) -> ImportedPersona:
    """Return the records of a card. `taken` are the names of the server's lorebooks.

    Raises CardError if its lorebook cannot be read.
    """
    book = None if card.book is None else book_from(card.book)
    ours = _ours(card)
    nickname = " ".join(card.spoken_name.split())
    names = [nickname, *_words(ours, "aliases")]
    aliases = [one for one in names if one != name and name_problem(one, MAX_UNITS) is None]
    persona = PersonaRecord(
        server_id,
        name,
        card.description,
        tuple(dict.fromkeys(aliases))[:MOST_OWN],
        tuple(_words(ours, "triggers")),
        samples=tuple(_pairs(ours.get("samples"))),
        is_age_restricted=ours.get("is_age_restricted") is True,
        card=kept_card(card),
        options=options_in(card),
    )
    if book is None or not book.entries:
        return ImportedPersona(persona, None)
    title = _free_name(f"{name}: {book.name}" if book.name else name, taken)
    return ImportedPersona(persona, LorebookRecord(server_id, title, book.data))


def options_in(card: Card) -> dict[str, Any]:
    """Return the options of a persona that a card brings.

    A card says neither which model is asked nor in which channels: that costs the server's money,
    and other servers have other channels. What is not allowed is left out.
    """
    given = _ours(card).get("options")
    found: dict[str, Any] = {"greeting": _usual_greeting(card)}
    for name, value in (given if isinstance(given, Mapping) else {}).items():
        if name in OPTIONS and OPTIONS[name].metadata["travels"]:
            with suppress(ConfigError):
                found[name] = checked_option(name, value)
    return checked_options(found)


def _usual_greeting(card: Card) -> str:
    return "first" if card.greetings else "off"


def _options_for_card(persona: PersonaRecord, card: Card) -> dict[str, Any]:
    """Return the options that a card carries, but not what an import does by itself."""
    stored = {name: one for name, one in persona.options.items() if name in OPTIONS}
    found = {name: one for name, one in stored.items() if OPTIONS[name].metadata["travels"]}
    greeting = found.pop("greeting", "off")
    return found if greeting == _usual_greeting(card) else {**found, "greeting": greeting}


def card_of_persona(
    persona: PersonaRecord, books: Sequence[LorebookRecord], pictures: Sequence[CardAsset] = ()
) -> Card:
    """Return the card of a persona, with its own lorebooks as one."""
    card = card_of(persona.name, persona.prompt, persona.card)
    data = dict(card.data)
    if books:
        data["character_book"] = _joined([book.content for book in books])
    extensions = {key: one for key, one in data["extensions"].items() if key != OURS}
    if ours := _own_fields(persona, card):
        extensions[OURS] = ours
    data["extensions"] = extensions
    return replace(card, data=data, assets=(*pictures, *card.assets))


def _own_fields(persona: PersonaRecord, card: Card) -> dict[str, Any]:
    spoken = " ".join(card.spoken_name.split())
    fields: dict[str, Any] = {
        "aliases": [one for one in persona.aliases if one != spoken],
        "triggers": list(persona.triggers),
        "samples": [list(pair) for pair in persona.samples],
        "is_age_restricted": persona.is_age_restricted,
        "options": _options_for_card(persona, card),
    }
    return {key: value for key, value in fields.items() if value}


def _ours(card: Card) -> Mapping[str, Any]:
    extensions = card.data.get("extensions")
    found = extensions.get(OURS) if isinstance(extensions, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _words(ours: Mapping[str, Any], key: str) -> list[str]:
    value = ours.get(key)
    words = value if isinstance(value, list) else []
    return [one.strip() for one in words if isinstance(one, str) and 0 < len(one.strip()) <= 80][
        :MOST_OWN
    ]


def _pairs(value: object) -> Iterable[tuple[str, str]]:
    for pair in value[:MOST_OWN] if isinstance(value, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair):
            yield pair[0], pair[1]


def _joined(contents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return several books as one; the properties of the book itself come from the first."""
    return {**contents[0], "entries": [one for book in contents for one in book.get("entries", ())]}


def _free_name(wanted: str, taken: Iterable[str]) -> str:
    known = {one.casefold() for one in taken}
    name = " ".join(wanted.split())[:BOOK_NAME]
    number = 2
    while name.casefold() in known:
        name = f"{wanted[: BOOK_NAME - 5]} {number}"
        number += 1
    return name


# -- the preview ---------------------------------------------------------------------------------


def preview(card: Card) -> str:
    """Describe what an import would add, for the person who decides about it.

    The notes of the creator are shown here, and nowhere else.
    """
    head = translated("**{name}** (a card of V{version})", name=card.name, version=card.version)
    lines = [head, translated("It brings: {parts}.", parts=", ".join(_parts(card)))]
    values = MacroValues(card.spoken_name, "somebody", utc_now())
    prompt = character_prompt(card, values)
    texts = (prompt.system, prompt.last, *(note.text for note in prompt.notes))
    tokens = sum(map(text_tokens, texts))
    lines.append(translated("Each answer reads about {tokens} tokens of it.", tokens=f"{tokens:,}"))
    lines += [f"- {reason}" for reason in left_out(card)]
    notes = " ".join(card.notes_in(language_now()).split())
    if notes:
        shown = notes if len(notes) <= MOST_NOTES else f"{notes[:MOST_NOTES]}…"
        lines.append(translated("Its creator says: {notes}", notes=shown))
    return "\n".join(lines)


def _parts(card: Card) -> list[str]:
    texts = (
        (card.description, translated("a description")),
        (card.personality, translated("a personality")),
        (card.scenario, translated("a scenario")),
        (card.examples, translated("sample dialogue")),
        (card.system_prompt, translated("a system prompt")),
        (card.post_history_instructions, translated("an instruction after the history")),
        (card.depth_note, translated("a note in the conversation")),
        (card.face, translated("a picture")),
    )
    found = [what for part, what in texts if part]
    if count := len(card.greetings):
        found.append(translated_count("{count} greeting", "{count} greetings", count))
    if card.book is not None and (count := len(_book(card).entries)):
        found.append(
            translated_count(
                "a lorebook with {count} entry", "a lorebook with {count} entries", count
            )
        )
    if count := len(card.moods):
        found.append(translated_count("{count} sprite", "{count} sprites", count))
    return found or [translated("its name")]


def _book(card: Card) -> Lorebook:
    return book_from(card.book)


def left_out(card: Card) -> list[str]:
    """Return what is not imported, or is imported but not used, and why."""
    lines = [said(one) for one in card.remarks]
    if triggers := _words(_ours(card), "triggers"):
        # Somebody else's card could otherwise make it answer every message.
        lines.append(translated("called by {triggers}", triggers=", ".join(triggers)))
    extensions = card.data.get("extensions", {})
    programs = [key for key in _NOT_RUN if key in extensions]
    if programs:
        names = ", ".join(programs)
        lines.append(
            translated("{names}: kept, but never run; they are programs of others", names=names)
        )
    shown = {"icon", "emotion"}
    kinds = sorted({one.kind for one in card.assets if one.kind not in shown})
    if kinds:
        names = ", ".join(kinds[:10])
        lines.append(translated("{names}: there is no place for these on Discord", names=names))
    missing = [one.name for one in card.moods if one.content is None]
    if missing:
        names = ", ".join(missing[:10])
        lines.append(
            translated("{names}: only an address; add them with `/sprite add`", names=names)
        )
    options = options_in(card)
    if options.pop("greeting", "off") != "off":
        lines.append(
            translated(
                "it greets each channel in which it is first called; `/persona set` with the "
                "option greeting ends that"
            )
        )
    if options:
        listed = ", ".join(f"{name} {value}" for name, value in options.items())
        lines.append(translated("its options: {options}", options=listed))
    return lines
