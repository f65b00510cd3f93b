"""`/sprite`: adds, lists and removes the sprites of a persona."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.characters.card_files import (
    LARGEST_FILE,
    LARGEST_SUM,
    read_sprites,
    too_much,
)
from oshaberi.bot.characters.cards import CardError
from oshaberi.bot.commands.answers import (
    Choices,
    answer,
    choices,
    plain,
    speak_to_user,
    tell_error,
)
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
    persona_choices,
    persona_named,
    personas_of,
)
from oshaberi.bot.commands.personas.picture_uploads import (
    MOST_UPLOADS,
    drop_unused,
    kept_picture,
    kept_pictures,
    left_out_line,
    listed_left_out,
    name_of_address,
    name_of_file,
    uploaded_file,
)
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.languages import said, translated, translated_count


async def add_sprite(
    context: BotContext,
    asker: CommandUser,
    persona: str,
    name: str,
    source: discord.Attachment | str,
    identity: bool,
) -> str:
    """Add a sprite. It replaces a sprite of the same name."""
    owner = await _owner(context, asker, persona)
    name = checked_sprite(name)
    others = [one for one in owner.sprites if one.name.casefold() != name.casefold()]
    if len(others) >= MOST_SPRITES:
        raise CommandRefusedError(
            translated(
                "At most {most_sprites} sprites; remove one: `/sprite remove`.",
                most_sprites=MOST_SPRITES,
            )
        )
    address = await kept_picture(context, asker, source, owner.name, name)
    await _save(context, owner, [SpriteRecord(name, address, identity)])
    return translated(
        "**{name}** now has the sprite {sprite}.", name=plain(owner.name), sprite=plain(name)
    )


async def add_sprites(
    context: BotContext,
    asker: CommandUser,
    persona: str,
    uploads: Sequence[discord.Attachment],
    identity: bool = False,
) -> str:
    """Add a sprite for each picture, with the name of its file. A ZIP has many pictures."""
    owner = await _owner(context, asker, persona)
    files: dict[str, bytes] = {}
    unread: list[str] = []
    for upload in uploads[:MOST_UPLOADS]:
        try:
            files |= within_sum(files, await _pictures_in(upload))
        except (CardError, CommandRefusedError) as refusal:
            if len(uploads) == 1:
                raise
            unread.append(left_out_line(upload.filename, said(refusal.args[0])))
    addresses, left_out = await kept_pictures(context, asker, files, owner)
    await _save(
        context, owner, [SpriteRecord(name, url, identity) for name, url in addresses.items()]
    )
    told = translated_count(
        "**{name}** has {count} new sprite: {sprites}.",
        "**{name}** has {count} new sprites: {sprites}.",
        len(addresses),
        name=plain(owner.name),
        sprites=plain(", ".join(addresses)) or "-",
    )
    return told + listed_left_out([*unread, *left_out])


def within_sum(before: Mapping[str, bytes], more: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return `more`, if the total is small enough to be held in memory."""
    if sum(map(len, before.values())) + sum(map(len, more.values())) > LARGEST_SUM:
        raise too_much()
    return more


async def _pictures_in(upload: discord.Attachment) -> dict[str, bytes]:
    """Return the pictures of an upload by name: itself, or those of an archive."""
    content = await uploaded_file(upload, LARGEST_FILE)
    if not upload.filename.lower().endswith(".zip"):
        return {name_of_file(upload.filename): content}
    found = await asyncio.to_thread(read_sprites, content)
    return {name_of_file(f"{one.name}.{one.ext}"): one.content or b"" for one in found}


async def _owner(context: BotContext, asker: CommandUser, persona: str) -> PersonaRecord:
    asker.must_manage()
    return await persona_named(context, asker.server_id, persona)


async def _save(context: BotContext, owner: PersonaRecord, sprites: Sequence[SpriteRecord]) -> None:
    if owner.id == 0:
        await context.db.personas.save(replace(owner, sprites=()))
    for one in sprites:
        await context.db.personas.save_sprite(owner.server_id, owner.name, one)
    context.personas_changed(owner.server_id)
    await drop_unused(context, owner.server_id)


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
    await drop_unused(context, asker.server_id)
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


class SpriteForm(discord.ui.Modal):
    """Asks for pictures. The sender's permissions are checked again on submit."""

    def __init__(self, persona: str, identity: bool) -> None:
        super().__init__(title=shortened(translated("Sprites of {name}", name=persona), 45))
        self._persona = persona
        self._identity = identity
        self._files: discord.ui.FileUpload[Any] = discord.ui.FileUpload(
            custom_id="pictures", min_values=1, max_values=MOST_UPLOADS
        )
        self.add_item(
            discord.ui.Label(
                text=translated("Pictures, or ZIP files of pictures"),
                description=translated("Each file's name becomes the sprite's: happy.png"),
                component=self._files,
            )
        )

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        speak_to_user(interaction)
        return True

    async def on_submit(self, interaction: Interaction, /) -> None:
        context, asker = context_of(interaction), asker_of(interaction)
        work = add_sprites(context, asker, self._persona, self._files.values, self._identity)
        await answer(interaction, work)

    async def on_error(  # type: ignore[override]  # as discord.py's own Modal has it
        self, interaction: Interaction, error: Exception, /
    ) -> None:
        await tell_error(interaction, error)


@sprite.command(description="Add sprites: avatars for moods. Without a picture, a form asks")
@app_commands.describe(
    persona="Whose sprite",
    name="Its name for the model: happy, angry; otherwise the file's name",
    picture="The picture as a file, or a ZIP of pictures that are named by mood",
    url="Or the address of the picture",
    identity="Speaks under its own name instead of the persona's",
)
async def add(
    interaction: Interaction,
    persona: Chosen,
    name: Chosen | None = None,
    picture: discord.Attachment | None = None,
    url: Address | None = None,
    identity: bool = False,
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    if picture is not None and (name is None or picture.filename.lower().endswith(".zip")):
        await answer(interaction, add_sprites(context, asker, persona, [picture], identity))
    elif picture is not None or url is not None:
        source = picture or url or ""
        name = name or name_of_address(str(url))
        await answer(interaction, add_sprite(context, asker, persona, name, source, identity))
    else:
        owner = await _owner(context, asker, persona)
        await interaction.response.send_modal(SpriteForm(owner.name, identity))


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
