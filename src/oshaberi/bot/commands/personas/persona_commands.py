"""`/persona`: creates, edits and deletes the personas of a server."""

from __future__ import annotations

from discord import app_commands

from oshaberi.bot.commands.command_answers import Choices, answer, ask_first
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Address,
    Chosen,
    Interaction,
    PlaceOption,
    asked_in,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.personas.persona_changes import (
    delete_persona,
    delete_question,
    make_default,
    restrict_by_age,
    set_avatar,
)
from oshaberi.bot.commands.personas.persona_forms import creation_form, edit_form
from oshaberi.bot.commands.personas.server_personas import list_personas, persona_choices
from oshaberi.languages import translated

persona = app_commands.Group(
    name="persona", description="The characters of the bot", default_permissions=MANAGER
)


@persona.command(description="Create a persona; a form asks for its character")
@app_commands.describe(name="The name it speaks under")
async def create(interaction: Interaction, name: Chosen) -> None:
    form = await creation_form(context_of(interaction), asker_of(interaction), name)
    await interaction.response.send_modal(form)


@persona.command(description="Change a persona's prompt, other names and trigger words")
@app_commands.describe(name="Which persona")
async def edit(interaction: Interaction, name: Chosen) -> None:
    form = await edit_form(context_of(interaction), asker_of(interaction), name)
    await interaction.response.send_modal(form)


@persona.command(description="Give a persona a picture")
@app_commands.describe(name="Which persona", url="Address of the picture; none if left out")
async def avatar(interaction: Interaction, name: Chosen, url: Address | None = None) -> None:
    await answer(interaction, set_avatar(context_of(interaction), asker_of(interaction), name, url))


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
        lambda asker: delete_persona(context, asker, name),
    )


@persona.command(description="Choose the persona that answers when no other is called")
@app_commands.rename(place="in")
@app_commands.describe(name="Which persona", place="Only in this channel, thread or category")
async def default(interaction: Interaction, name: Chosen, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, make_default(context, asker, name, where))


@persona.command(name="age-restrict", description="Let it answer only in age-restricted channels")
@app_commands.describe(name="Which persona", restricted="Only there, or in all channels again")
async def age_restrict(interaction: Interaction, name: Chosen, restricted: bool = True) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, restrict_by_age(context, asker, name, restricted))


@edit.autocomplete("name")
@avatar.autocomplete("name")
@delete.autocomplete("name")
@default.autocomplete("name")
@age_restrict.autocomplete("name")
async def _names(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)
