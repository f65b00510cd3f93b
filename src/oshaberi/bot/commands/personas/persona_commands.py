"""`/persona`: creates, edits and deletes the personas of a server, in forms."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, CommandForm, answer, ask_first, plain
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Address,
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    asker_of,
    context_in,
    context_of,
)
from oshaberi.bot.commands.personas.draft_command import show_draft
from oshaberi.bot.commands.personas.persona_changes import (
    FIELD_LIMIT,
    create_persona,
    delete_persona,
    delete_question,
    edit_persona,
    list_personas,
    make_default,
    may_create,
    persona_choices,
    persona_named,
    restrict_by_age,
    set_talkativeness,
)
from oshaberi.bot.commands.personas.picture_uploads import drop_unused, kept_picture
from oshaberi.bot.commands.personas.profile_command import ask_about_profile
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.generation.character_draft import LONGEST_IDEA
from oshaberi.languages import translated

# The forms in which users write a persona.


WORDS_LIMIT = 500
PROMPT_FIELDS = 3
"""A form has five fields; two are for names and trigger words."""


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
    if prompt_pieces(persona.prompt) is None:
        raise CommandRefusedError(
            translated(
                "Its prompt is too long for a form. Change it in the file that `/persona export` "
                "gives you, then use `/persona import`."
            )
        )

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        return await edit_persona(context, sender, persona.name, values)

    return _form(translated("Persona: {name}", name=persona.name), persona, take)


def prompt_pieces(prompt: str) -> list[str] | None:
    """Cut a prompt at line ends so that it fits the fields of a form; None if it does not fit."""
    pieces: list[str] = []
    for line in prompt.splitlines():
        whole = f"{pieces[-1]}\n{line}" if pieces else line
        if len(whole) <= FIELD_LIMIT and pieces:
            pieces[-1] = whole
        else:
            pieces.append(line)
    fits = len(pieces) <= PROMPT_FIELDS and all(len(one) <= FIELD_LIMIT for one in pieces)
    return (pieces or [""]) if fits else None


def _form(
    title: str,
    persona: PersonaRecord,
    take: Callable[[CommandUser, dict[str, str]], Coroutine[Any, Any, str]],
) -> CommandForm:
    pieces = prompt_pieces(persona.prompt) or [""]
    if len(pieces) < PROMPT_FIELDS and len(pieces[-1]) > FIELD_LIMIT // 2:
        pieces.append("")
    prompts = [_prompt_field(number, piece) for number, piece in enumerate(pieces)]
    aliases = _words(translated("Other names, with commas between"), "aliases", persona.aliases)
    triggers = _words(
        translated("Words that call it, with commas between"), "triggers", persona.triggers
    )

    async def joined(sender: CommandUser, values: dict[str, str]) -> str:
        parts = [values.pop(field.custom_id) for field in prompts]
        return await take(sender, {**values, "prompt": "\n".join(filter(None, parts))})

    return CommandForm(title, (*prompts, aliases, triggers), joined)


def _prompt_field(number: int, text: str) -> discord.ui.TextInput[Any]:
    goes_on = translated("The continuation of the field above")
    return discord.ui.TextInput(
        label=goes_on if number else translated("Who it is, how it speaks"),
        custom_id=f"prompt{number}" if number else "prompt",
        style=discord.TextStyle.paragraph,
        max_length=FIELD_LIMIT,
        default=text or None,
        required=False,
    )


def _words(label: str, custom_id: str, words: tuple[str, ...]) -> discord.ui.TextInput[Any]:
    return discord.ui.TextInput(
        label=label,
        custom_id=custom_id,
        max_length=WORDS_LIMIT,
        default=", ".join(words)[:WORDS_LIMIT] or None,
        required=False,
    )


async def set_avatar(
    context: BotContext, asker: CommandUser, name: str, source: discord.Attachment | str | None
) -> str:
    """Give a persona a picture, uploaded or from an address, or take it away."""
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    shown = plain(persona.name)
    if source is None:
        await context.db.personas.save(replace(persona, avatar_url=None))
        context.personas_changed(asker.server_id)
        await drop_unused(context, asker.server_id)
        return translated("**{name}** has no picture of its own any more.", name=shown)
    address = await kept_picture(context, asker, source, persona.name)
    await context.db.personas.save(replace(persona, avatar_url=address))
    context.personas_changed(asker.server_id)
    await drop_unused(context, asker.server_id)
    own = (
        translated(" The default persona shows the bot's own picture.")
        if persona.is_default
        else ""
    )
    return translated("**{name}** has a new picture.{own}", name=shown, own=own)


# The commands.


persona = app_commands.Group(
    name="persona", description="The characters of the bot", default_permissions=MANAGER
)


@persona.command(description="Create a persona in a form; with an idea the model drafts it first")
@app_commands.describe(
    name="The name it speaks under", idea="One sentence from which the model drafts it"
)
async def create(
    interaction: Interaction,
    name: Chosen | None = None,
    idea: app_commands.Range[str, 1, LONGEST_IDEA] | None = None,
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    if idea is not None:
        await show_draft(context, interaction, name, idea)
        return
    if name is None:
        raise CommandRefusedError(
            translated("Give it a `name`, or an `idea` from which the model drafts it.")
        )
    await interaction.response.send_modal(await creation_form(context, asker, name))


@persona.command(description="Change a persona's prompt, other names and trigger words")
@app_commands.describe(name="Which persona")
async def edit(interaction: Interaction, name: Chosen) -> None:
    form = await edit_form(context_of(interaction), asker_of(interaction), name)
    await interaction.response.send_modal(form)


@persona.command(description="Give a persona a picture; without one it loses its own")
@app_commands.describe(
    name="Which persona", picture="The picture as a file", url="Or the address of the picture"
)
async def avatar(
    interaction: Interaction,
    name: Chosen,
    picture: discord.Attachment | None = None,
    url: Address | None = None,
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, set_avatar(context, asker, name, picture or url))
    await ask_about_profile(interaction, name)


@persona.command(name="list", description="List the personas of this server")
async def list_(interaction: Interaction) -> None:
    await answer(interaction, list_personas(context_of(interaction), asker_of(interaction)))


@persona.command(description="Delete a persona and its sprites")
@app_commands.describe(name="Which persona")
async def delete(interaction: Interaction, name: Chosen) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    question = await delete_question(context, asker, name)
    await ask_first(
        interaction,
        question,
        translated("Delete it"),
        lambda asker: _deleted(context, asker, name),
    )


async def _deleted(context: BotContext, asker: CommandUser, name: str) -> str:
    told = await delete_persona(context, asker, name)
    await drop_unused(context, asker.server_id)
    return told


@persona.command(description="Choose the persona that answers when no other is called")
@app_commands.rename(place="in")
@app_commands.describe(name="Which persona", place="Only in this channel, thread or category")
async def default(interaction: Interaction, name: Chosen, place: PlaceOption | None = None) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, make_default(context, asker, name, where))
    await ask_about_profile(interaction, name)


@persona.command(name="age-restrict", description="Let it answer only in age-restricted channels")
@app_commands.describe(name="Which persona", restricted="Only there, or in all channels again")
async def age_restrict(interaction: Interaction, name: Chosen, restricted: bool = True) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, restrict_by_age(context, asker, name, restricted))


@persona.command(description="How readily it joins in when another persona has spoken")
@app_commands.describe(name="Which persona", percent="The chance, in percent")
async def talkative(
    interaction: Interaction, name: Chosen, percent: app_commands.Range[int, 0, 100]
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, set_talkativeness(context, asker, name, percent))


@talkative.autocomplete("name")
@edit.autocomplete("name")
@avatar.autocomplete("name")
@delete.autocomplete("name")
@default.autocomplete("name")
@age_restrict.autocomplete("name")
async def _names(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)
