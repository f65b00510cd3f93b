"""Finds the personas of a server by name, lists them, and offers them as choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import Choices, choices, plain
from oshaberi.bot.commands.command_context import CommandRefusedError, CommandUser
from oshaberi.languages import translated, translated_count
from oshaberi.storage.stored_records import PersonaRecord

MOST_PLACES = 10
ANSWERING = "answering_persona"
"""The setting that names the persona of a channel."""


async def personas_of(context: BotContext, server_id: int) -> tuple[PersonaRecord, ...]:
    """Return the server's personas, or the operator's if it has none."""
    stored = await context.db.personas.of(server_id)
    return stored or (replace(context.services.persona, server_id=server_id, is_default=True),)


async def persona_named(context: BotContext, server_id: int, name: str) -> PersonaRecord:
    """Find a persona by name or alias.

    The operator's persona is copied to the server as soon as the server changes it.
    """
    stored = await context.db.personas.get(server_id, name.strip())
    if stored is not None:
        return stored
    for persona in await personas_of(context, server_id):
        if persona.name.casefold() == name.strip().casefold():
            return persona
    raise CommandRefusedError(
        translated("There is no persona {name}; `/persona list` shows all.", name=plain(name))
    )


async def persona_choices(context: BotContext, server_id: int, typed: str) -> Choices:
    names = [persona.name for persona in await personas_of(context, server_id)]
    return choices(typed, ((name, name) for name in names))


async def list_personas(context: BotContext, asker: CommandUser) -> str:
    stored = await context.db.servers.settings(asker.server_id)
    chosen = {place: values.get(ANSWERING) for place, values in stored.channels.items()}
    return "\n".join(
        _line(persona, [place for place, name in chosen.items() if name == persona.name])
        for persona in await personas_of(context, asker.server_id)
    )


def _line(persona: PersonaRecord, answers_in: Sequence[int]) -> str:
    facts = [translated("default")] if persona.is_default else []
    if answers_in:
        facts.append(
            translated(
                "default in {channels}",
                channels=", ".join(f"<#{one}>" for one in answers_in[:MOST_PLACES]),
            )
        )
    if persona.is_age_restricted:
        facts.append(translated("only in age-restricted channels"))
    if persona.triggers:
        facts.append(
            translated("called by {triggers}", triggers=plain(", ".join(persona.triggers)))
        )
    if persona.sprites:
        facts.append(translated_count("{count} sprite", "{count} sprites", len(persona.sprites)))
    told = f" ({'; '.join(facts)})" if facts else ""
    return f"- **{plain(persona.name)}**{told}"
