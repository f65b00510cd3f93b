"""The forms in which users write a persona."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import CommandForm
from oshaberi.bot.commands.command_context import CommandRefusedError, CommandUser
from oshaberi.bot.commands.personas.persona_changes import (
    create_persona,
    edit_persona,
    may_create,
)
from oshaberi.bot.commands.personas.persona_input_checks import PROMPT_LIMIT
from oshaberi.bot.commands.personas.server_personas import persona_named
from oshaberi.languages import translated
from oshaberi.storage.stored_records import PersonaRecord

WORDS_LIMIT = 500


async def creation_form(context: BotContext, asker: CommandUser, name: str) -> CommandForm:
    name = await may_create(context, asker, name)

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        return await create_persona(context, sender, name, values)

    return _form(
        translated("New persona: {name}", name=name), PersonaRecord(asker.server_id, name), take
    )


async def edit_form(context: BotContext, asker: CommandUser, name: str) -> CommandForm:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    if len(persona.prompt) > PROMPT_LIMIT:
        raise CommandRefusedError(
            translated("Its prompt is too long for a form; whoever runs the bot can change it.")
        )

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        return await edit_persona(context, sender, persona.name, values)

    return _form(translated("Persona: {name}", name=persona.name), persona, take)


def _form(
    title: str,
    persona: PersonaRecord,
    take: Callable[[CommandUser, dict[str, str]], Coroutine[Any, Any, str]],
) -> CommandForm:
    prompt: discord.ui.TextInput[Any] = discord.ui.TextInput(
        label=translated("Who it is, how it speaks"),
        custom_id="prompt",
        style=discord.TextStyle.paragraph,
        max_length=PROMPT_LIMIT,
        default=persona.prompt or None,
        required=False,
    )
    aliases = _words(translated("Other names, with commas between"), "aliases", persona.aliases)
    triggers = _words(
        translated("Words that call it, with commas between"), "triggers", persona.triggers
    )
    return CommandForm(title, (prompt, aliases, triggers), take)


def _words(label: str, custom_id: str, words: tuple[str, ...]) -> discord.ui.TextInput[Any]:
    return discord.ui.TextInput(
        label=label,
        custom_id=custom_id,
        max_length=WORDS_LIMIT,
        default=", ".join(words)[:WORDS_LIMIT] or None,
        required=False,
    )
