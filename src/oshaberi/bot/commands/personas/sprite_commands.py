"""`/sprite`: adds, lists and removes the sprites of a persona."""

from __future__ import annotations

from dataclasses import replace

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, answer, choices, plain
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Address,
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.personas.persona_changes import (
    MOST_SPRITES,
    checked_sprite,
    checked_url,
    persona_choices,
    persona_named,
    personas_of,
)
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord
from oshaberi.languages import translated


async def add_sprite(
    context: BotContext, asker: CommandUser, persona: str, name: str, url: str, identity: bool
) -> str:
    """Add a sprite. It replaces a sprite of the same name."""
    asker.must_manage()
    owner = await persona_named(context, asker.server_id, persona)
    sprite = SpriteRecord(checked_sprite(name), checked_url(url), identity)
    others = [one for one in owner.sprites if one.name.casefold() != sprite.name.casefold()]
    if len(others) >= MOST_SPRITES:
        raise CommandRefusedError(
            translated(
                "At most {most_sprites} sprites; remove one: `/sprite remove`.",
                most_sprites=MOST_SPRITES,
            )
        )
    if owner.id == 0:
        await context.db.personas.save(replace(owner, sprites=()))
    await context.db.personas.save_sprite(asker.server_id, owner.name, sprite)
    context.personas_changed(asker.server_id)
    return translated(
        "**{name}** now has the sprite {sprite}.", name=plain(owner.name), sprite=plain(sprite.name)
    )


async def list_sprites(context: BotContext, asker: CommandUser, persona: str | None) -> str:
    personas = await personas_of(context, asker.server_id)
    if persona is not None:
        personas = (await persona_named(context, asker.server_id, persona),)
    lines = [_line(one) for one in personas if one.sprites]
    return "\n".join(lines) or translated("There are no sprites. Add one with `/sprite add`.")


async def remove_sprite(context: BotContext, asker: CommandUser, persona: str, name: str) -> str:
    asker.must_manage()
    owner = await persona_named(context, asker.server_id, persona)
    if not await context.db.personas.delete_sprite(asker.server_id, owner.name, name.strip()):
        raise CommandRefusedError(
            translated("There is no sprite {name}; `/sprite list` shows all.", name=plain(name))
        )
    context.personas_changed(asker.server_id)
    return translated(
        "**{name}** no longer has the sprite {sprite}.", name=plain(owner.name), sprite=plain(name)
    )


async def sprite_choices(context: BotContext, server_id: int, persona: str, typed: str) -> Choices:
    personas = await personas_of(context, server_id)
    wanted = persona.strip().casefold()
    names = [s.name for one in personas if one.name.casefold() == wanted for s in one.sprites]
    return choices(typed, ((name, name) for name in names))


def _line(persona: PersonaRecord) -> str:
    names = (
        plain(sprite.name) + (translated(" (under its own name)") if sprite.is_identity else "")
        for sprite in persona.sprites
    )
    return f"- **{plain(persona.name)}**: {', '.join(names)}"


sprite = app_commands.Group(
    name="sprite", description="More avatars of a persona", default_permissions=MANAGER
)


@sprite.command(description="Add a sprite (an avatar for a mood), or change its picture")
@app_commands.describe(
    persona="Whose sprite",
    name="Its name for the model: happy, angry",
    url="Address of the picture",
    identity="Speaks under its own name instead of the persona's",
)
async def add(
    interaction: Interaction, persona: Chosen, name: Chosen, url: Address, identity: bool = False
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, add_sprite(context, asker, persona, name, url, identity))


@sprite.command(name="list", description="List the sprites of a persona, or of all")
@app_commands.describe(persona="Whose sprites; of all personas if left out")
async def list_(interaction: Interaction, persona: Chosen | None = None) -> None:
    await answer(interaction, list_sprites(context_of(interaction), asker_of(interaction), persona))


@sprite.command(description="Remove a sprite")
@app_commands.describe(persona="Whose sprite", name="Which sprite")
async def remove(interaction: Interaction, persona: Chosen, name: Chosen) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, remove_sprite(context, asker, persona, name))


@add.autocomplete("persona")
@list_.autocomplete("persona")
@remove.autocomplete("persona")
async def _personas(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)


@add.autocomplete("name")
@remove.autocomplete("name")
async def _sprites(interaction: Interaction, typed: str) -> Choices:
    persona = str(interaction.namespace.persona or "")
    server_id = asker_of(interaction).server_id
    return await sprite_choices(context_of(interaction), server_id, persona, typed)


COMMANDS = (sprite,)
