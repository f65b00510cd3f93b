"""`/persona`: creates, edits and deletes the personas of a server."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.commands.command_answers import (
    Choices,
    CommandForm,
    answer,
    ask_first,
    choices,
    plain,
)
from oshaberi.bot.commands.command_context import (
    MANAGER,
    CommandContext,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asked_in,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.input_checks import checked_name, checked_url, checked_words
from oshaberi.languages import translatable, translated
from oshaberi.storage.stored_records import PersonaRecord

PROMPT_LIMIT = 4000
"""As much as a field of a form holds."""
WORDS_LIMIT = 500
BUILT_IN = translatable("The built-in persona cannot be deleted; create another one instead.")
MOST_PERSONAS = 50
MOST_PLACES = 10
ANSWERING = "answering_persona"
"""The setting that names the persona of a channel."""


async def personas_of(context: CommandContext, server_id: int) -> tuple[PersonaRecord, ...]:
    """Return the server's personas, or the operator's if it has none."""
    stored = await context.db.personas.of(server_id)
    return stored or (replace(context.services.persona, server_id=server_id, is_default=True),)


async def found(context: CommandContext, server_id: int, name: str) -> PersonaRecord:
    """Find a persona by name or alias.

    The operator's becomes the server's own once it is changed.
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


async def create_persona(
    context: CommandContext, asker: CommandUser, name: str, values: dict[str, str]
) -> str:
    name = await may_create(context, asker, name)
    first = not await context.db.personas.of(asker.server_id)
    await _may_be_called(context, asker.server_id, name, values)
    record = _filled(PersonaRecord(asker.server_id, name, is_default=first), values)
    await context.db.personas.save(record)
    context.personas_changed(asker.server_id)
    if first:
        return translated("**{name}** is created, and answers from now on.", name=plain(name))
    how = translated("its name or a trigger word") if record.triggers else translated("its name")
    return translated(
        "**{name}** is created. It answers to {how}. `/persona avatar` gives it a picture.",
        name=plain(name),
        how=how,
    )


async def may_create(context: CommandContext, asker: CommandUser, name: str) -> str:
    """Check that the persona can be created: before the form opens and when it is sent."""
    asker.must_manage()
    name = checked_name(name)
    stored = await context.db.personas.of(asker.server_id)
    if await context.db.personas.get(asker.server_id, name) is not None:
        raise CommandRefusedError(
            translated("There is already a persona {name}; use `/persona edit`.", name=plain(name))
        )
    if len(stored) >= MOST_PERSONAS:
        raise CommandRefusedError(
            translated(
                "At most {most_personas} personas; delete one: `/persona delete`.",
                most_personas=MOST_PERSONAS,
            )
        )
    return name


async def edit_persona(
    context: CommandContext, asker: CommandUser, name: str, values: dict[str, str]
) -> str:
    asker.must_manage()
    persona = await found(context, asker.server_id, name)
    await _may_be_called(context, asker.server_id, persona.name, values)
    await context.db.personas.save(_filled(persona, values))
    context.personas_changed(asker.server_id)
    return translated("**{name}** is updated.", name=plain(persona.name))


async def set_avatar(
    context: CommandContext, asker: CommandUser, name: str, url: str | None
) -> str:
    asker.must_manage()
    persona = await found(context, asker.server_id, name)
    avatar_url = None if url is None else checked_url(url)
    await context.db.personas.save(replace(persona, avatar_url=avatar_url))
    context.personas_changed(asker.server_id)
    shown = plain(persona.name)
    if avatar_url is None:
        return translated("**{shown}** has no picture of its own any more.", shown=shown)
    own = (
        translated(" The default persona shows the bot's own picture.")
        if persona.is_default
        else ""
    )
    return translated("**{shown}** has a new picture.{own}", shown=shown, own=own)


async def list_personas(context: CommandContext, asker: CommandUser) -> str:
    stored = await context.db.servers.settings(asker.server_id)
    chosen = {place: values.get(ANSWERING) for place, values in stored.channels.items()}
    return "\n".join(
        _line(persona, [place for place, name in chosen.items() if name == persona.name])
        for persona in await personas_of(context, asker.server_id)
    )


async def delete_question(context: CommandContext, asker: CommandUser, name: str) -> str:
    asker.must_manage()
    persona = await found(context, asker.server_id, name)
    if await context.db.personas.get(asker.server_id, persona.name) is None:
        raise CommandRefusedError(translated(BUILT_IN))
    sprites = (
        translated(" and its {sprites} sprites", sprites=len(persona.sprites))
        if persona.sprites
        else ""
    )
    return translated(
        "Delete **{name}**{sprites}? This cannot be undone.",
        name=plain(persona.name),
        sprites=sprites,
    )


async def delete_persona(context: CommandContext, asker: CommandUser, name: str) -> str:
    asker.must_manage()
    persona = await found(context, asker.server_id, name)
    if not await context.db.personas.delete(asker.server_id, persona.name):
        raise CommandRefusedError(translated(BUILT_IN))
    told = await _new_default(context, asker.server_id) if persona.is_default else ""
    context.personas_changed(asker.server_id)
    return translated("**{name}** is deleted.{told}", name=plain(persona.name), told=told)


async def _new_default(context: CommandContext, server_id: int) -> str:
    """Make the first persona the default, since there must be one."""
    first = (await personas_of(context, server_id))[0]
    await context.db.personas.make_default(server_id, first.name)
    return translated(" {name} is now the default.", name=plain(first.name))


async def make_default(
    context: CommandContext, asker: CommandUser, name: str, where: Where = None
) -> str:
    asker.must_manage()
    persona = await found(context, asker.server_id, name)
    if where is not None:
        channel_id = where.channel_id
        await context.db.servers.set_config(asker.server_id, ANSWERING, persona.name, channel_id)
        return translated(
            "In <#{channel_id}> **{name}** answers when no other is called.",
            channel_id=channel_id,
            name=plain(persona.name),
        )
    if not await context.db.personas.make_default(asker.server_id, persona.name):
        raise CommandRefusedError(
            translated("{name} is already the default.", name=plain(persona.name))
        )
    context.personas_changed(asker.server_id)
    return translated(
        "**{name}** is now the default: it answers when no other is called.",
        name=plain(persona.name),
    )


async def restrict_by_age(
    context: CommandContext, asker: CommandUser, name: str, restricted: bool
) -> str:
    asker.must_manage()
    persona = await found(context, asker.server_id, name)
    await context.db.personas.save(replace(persona, is_age_restricted=restricted))
    context.personas_changed(asker.server_id)
    shown = plain(persona.name)
    if restricted:
        return translated(
            "**{shown}** now answers only in channels that Discord marks as age-restricted.",
            shown=shown,
        )
    return translated("**{shown}** answers in all channels again.", shown=shown)


async def persona_choices(context: CommandContext, server_id: int, typed: str) -> Choices:
    names = [persona.name for persona in await personas_of(context, server_id)]
    return choices(typed, ((name, name) for name in names))


async def creation_form(context: CommandContext, asker: CommandUser, name: str) -> CommandForm:
    name = await may_create(context, asker, name)

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        return await create_persona(context, sender, name, values)

    return _form(
        translated("New persona: {name}", name=name), PersonaRecord(asker.server_id, name), take
    )


async def edit_form(context: CommandContext, asker: CommandUser, name: str) -> CommandForm:
    asker.must_manage()
    persona = await found(context, asker.server_id, name)
    if len(persona.prompt) > PROMPT_LIMIT:
        raise CommandRefusedError(
            translated("Its prompt is too long for a form; whoever runs the bot can change it.")
        )

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        return await edit_persona(context, sender, persona.name, values)

    return _form(f"Persona: {persona.name}", persona, take)


async def _may_be_called(
    context: CommandContext, server_id: int, name: str, values: dict[str, str]
) -> None:
    """Refuse an alias that is already a name of another persona."""
    for alias in checked_words(values["aliases"], translated("Other names")):
        other = await context.db.personas.get(server_id, checked_name(alias))
        if other is not None and other.name != name:
            raise CommandRefusedError(
                translated(
                    "{alias} is already a name of {name}.",
                    alias=plain(alias),
                    name=plain(other.name),
                )
            )


def _filled(persona: PersonaRecord, values: dict[str, str]) -> PersonaRecord:
    return replace(
        persona,
        prompt=values["prompt"][:PROMPT_LIMIT],
        aliases=checked_words(values["aliases"], translated("Other names")),
        triggers=checked_words(values["triggers"], translated("Trigger words")),
    )


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


def _line(persona: PersonaRecord, answers_in: Sequence[int]) -> str:
    facts = ["default"] if persona.is_default else []
    if answers_in:
        facts.append(
            translated(
                "default in {value}",
                value=", ".join(f"<#{one}>" for one in answers_in[:MOST_PLACES]),
            )
        )
    if persona.is_age_restricted:
        facts.append(translated("only in age-restricted channels"))
    if persona.triggers:
        facts.append(
            translated("called by {triggers}", triggers=plain(", ".join(persona.triggers)))
        )
    if persona.sprites:
        facts.append(translated("{sprites} sprites", sprites=len(persona.sprites)))
    told = f" ({'; '.join(facts)})" if facts else ""
    return f"- **{plain(persona.name)}**{told}"


persona = app_commands.Group(
    name="persona", description="The characters of the bot", default_permissions=MANAGER
)


@persona.command(description="Create a persona; a form asks for its character")
@app_commands.describe(name="The name it speaks under")
async def create(interaction: Interaction, name: str) -> None:
    form = await creation_form(context_of(interaction), asker_of(interaction), name)
    await interaction.response.send_modal(form)


@persona.command(description="Change a persona's prompt, other names and trigger words")
@app_commands.describe(name="Which persona")
async def edit(interaction: Interaction, name: str) -> None:
    form = await edit_form(context_of(interaction), asker_of(interaction), name)
    await interaction.response.send_modal(form)


@persona.command(description="Give a persona a picture")
@app_commands.describe(name="Which persona", url="Address of the picture; none if left out")
async def avatar(interaction: Interaction, name: str, url: str | None = None) -> None:
    await answer(interaction, set_avatar(context_of(interaction), asker_of(interaction), name, url))


@persona.command(name="list", description="List the personas of this server")
async def list_(interaction: Interaction) -> None:
    await answer(interaction, list_personas(context_of(interaction), asker_of(interaction)))


@persona.command(description="Delete a persona and its sprites")
@app_commands.describe(name="Which persona")
async def delete(interaction: Interaction, name: str) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    question = await delete_question(context, asker, name)
    await ask_first(
        interaction,
        question,
        translated("Delete it"),
        lambda asker: delete_persona(context, asker, name),
    )


@persona.command(description="Choose the persona that answers when no other is called")
@app_commands.rename(place="in")
@app_commands.describe(name="Which persona", place="Only in this channel, thread or category")
async def default(interaction: Interaction, name: str, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, make_default(context, asker, name, where))


@persona.command(name="age-restrict", description="Let it answer only in age-restricted channels")
@app_commands.describe(name="Which persona", restricted="Only there, or in all channels again")
async def age_restrict(interaction: Interaction, name: str, restricted: bool = True) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, restrict_by_age(context, asker, name, restricted))


@edit.autocomplete("name")
@avatar.autocomplete("name")
@delete.autocomplete("name")
@default.autocomplete("name")
@age_restrict.autocomplete("name")
async def _names(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)


COMMANDS = (persona,)
