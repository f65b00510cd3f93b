"""`/persona import` and `export`: characters come in as cards, and go out as cards."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.characters.card_files import (
    LARGEST_FILE,
    LARGEST_SUM,
    check_size,
    read_card,
    too_much,
    written_card,
)
from oshaberi.bot.characters.cards import Card, CardAsset, CardError
from oshaberi.bot.characters.persona_cards import card_of_persona, persona_of_card, preview
from oshaberi.bot.characters.work_limits import HeldCards
from oshaberi.bot.commands.answers import Choices, ask_first, plain
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.lore_limits import check_book
from oshaberi.bot.commands.personas.persona_changes import (
    check_size as check_persona_size,
)
from oshaberi.bot.commands.personas.persona_changes import (
    may_create,
    persona_choices,
    persona_named,
)
from oshaberi.bot.commands.personas.picture_uploads import (
    kept_pictures,
    left_out_line,
    listed_left_out,
    uploaded_file,
)
from oshaberi.bot.faces.kept_pictures import picture_words
from oshaberi.bot.faces.pictures import FacePicture, PictureRefusedError
from oshaberi.bot.storage.records import LorebookRecord, PersonaRecord, SpriteRecord
from oshaberi.languages import said, translated
from oshaberi.providers.images.preparation import png_of_drawn

LONGEST_PREVIEW = 3600
MEGABYTE = 1024 * 1024


# -- in ------------------------------------------------------------------------------------------


async def read_uploads(files: Sequence[discord.Attachment]) -> tuple[list[Card], list[str]]:
    """Return the cards, and one line for each file that is not a card."""
    cards: list[Card] = []
    refused: list[str] = []
    held = 0
    if sum(file.size for file in files) > LARGEST_FILE:
        check_size(sum(file.size for file in files))
    for file in files:
        try:
            card = await _read_upload(file)
            held += (size := _picture_bytes(card))
            if held > LARGEST_SUM:
                held -= size
                raise too_much()
            cards.append(card)
        except CardError as error:
            reason = said(error.args[0])
            refused.append(f"- {plain(file.filename[:100])}: {reason}")
    return cards, refused


async def _read_upload(file: discord.Attachment) -> Card:
    check_size(file.size)
    content = await uploaded_file(file, LARGEST_FILE)
    return await asyncio.to_thread(read_card, content, file.filename)


async def checked_import(
    context: BotContext, asker: CommandUser, card: Card, name: str
) -> tuple[PersonaRecord, LorebookRecord | None]:
    """Return what an import stores. Raises if it cannot be stored, before anything is."""
    name = await may_create(context, asker, name)
    books = await context.db.lorebooks.of(asker.server_id)
    taken = [one.name for one in books]
    made = await asyncio.to_thread(persona_of_card, card, asker.server_id, name, taken)
    if made.book is not None:
        check_book(made.book, books)
    aliases = [
        alias
        for alias in made.persona.aliases
        if await context.db.personas.get(asker.server_id, alias) is None
    ]
    record = replace(made.persona, aliases=tuple(aliases))
    check_persona_size(PersonaRecord(asker.server_id, name), record)
    return record, made.book


async def import_card(context: BotContext, asker: CommandUser, card: Card, name: str) -> str:
    """Store a card as a persona with its lorebook and its pictures.

    Persona and lorebook are stored together or not at all; pictures that cannot be kept are listed.
    """
    record, book = await checked_import(context, asker, card, name)
    record, missing = await _with_pictures(context, asker, card, record)
    first = not await context.db.personas.of(asker.server_id)
    saved = await context.db.personas.save(replace(record, is_default=first))
    try:
        if book is not None:
            await context.db.lorebooks.save(replace(book, persona_id=saved.id))
    except BaseException:
        await context.db.personas.delete(asker.server_id, saved.name)
        raise
    finally:
        context.personas_changed(asker.server_id)
    shown = plain(saved.name)
    told = translated("**{name}** is here. It answers to its name.", name=shown)
    if first:
        told = translated("**{name}** is here, and answers from now on.", name=shown)
    return told + listed_left_out(missing)


async def _with_pictures(
    context: BotContext, asker: CommandUser, card: Card, record: PersonaRecord
) -> tuple[PersonaRecord, list[str]]:
    """Keep the pictures of a card. Return the persona with them, and a line for each failure."""
    missing: list[str] = []
    if card.face is not None and card.face.content is not None:
        words = picture_words(record.name, "")
        try:
            place = (asker.server_id, asker.channel_id)
            url = await context.faces.keep(*place, card.face.content, words)
            record = replace(record, avatar_url=url)
        except PictureRefusedError as refusal:
            missing.append(left_out_line(record.name, said(refusal.args[0])))
    moods = {one.name: one.content for one in card.moods if one.content is not None}
    if moods:
        try:
            addresses, lines = await kept_pictures(context, asker, moods, record)
        except PictureRefusedError as refusal:
            addresses, lines = {}, [left_out_line(", ".join(moods), said(refusal.args[0]))]
        missing += lines
        sprites = tuple(SpriteRecord(mood, url) for mood, url in addresses.items())
        record = replace(record, sprites=sprites)
    return record, missing


async def _import_all(
    context: BotContext, asker: CommandUser, held: HeldCards, names: Sequence[str]
) -> str:
    lines = []
    for card, name in zip(held.cards, names, strict=True):
        try:
            lines.append(await import_card(context, asker, card, name))
        except (CommandRefusedError, CardError) as error:
            lines.append(f"{plain(name)}: {said(error.args[0])}")
    return "\n".join(lines)


@app_commands.command(
    name="import", description="Bring in characters from cards: PNG, JSON or CHARX"
)
@app_commands.describe(
    file="A card of SillyTavern and its kin",
    name="Another name for it, if it is one card",
    file2="Another card",
    file3="Another card",
    file4="Another card",
    file5="Another card",
)
async def import_(
    interaction: Interaction,
    file: discord.Attachment,
    name: Chosen | None = None,
    file2: discord.Attachment | None = None,
    file3: discord.Attachment | None = None,
    file4: discord.Attachment | None = None,
    file5: discord.Attachment | None = None,
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    asker.must_manage()
    files = [one for one in (file, file2, file3, file4, file5) if one is not None]
    await interaction.response.defer(ephemeral=True, thinking=True)
    work = context.character_work
    with work.alone("import", asker.server_id):
        async with work.reading:
            cards, refused = await read_uploads(files)
        if not cards:
            raise CommandRefusedError(refused[0].removeprefix("- "))
        names = [name if name and len(cards) == 1 else card.name for card in cards]
        for card, wanted in zip(cards, names, strict=True):
            await checked_import(context, asker, card, wanted)
        shown = [await asyncio.to_thread(preview, card) for card in cards]
        held = work.hold(asker.server_id, cards, _size(files, cards))
    try:
        await ask_first(
            interaction,
            "\n\n".join([*shown, *refused])[:LONGEST_PREVIEW],
            translated("Bring it in") if len(names) == 1 else translated("Bring them in"),
            lambda asker: _import_all(context, asker, held, names),
            deletes=False,
            let_go=lambda: work.release(held),
        )
    except BaseException:
        work.release(held)
        raise


def _size(files: Sequence[discord.Attachment], cards: Sequence[Card]) -> int:
    """Return the most bytes that the cards can take: texts and pictures."""
    return sum(file.size for file in files) + sum(map(_picture_bytes, cards))


def _picture_bytes(card: Card) -> int:
    return sum(len(one.content or b"") for one in card.assets)


# -- out -----------------------------------------------------------------------------------------


async def card_of_stored(context: BotContext, asker: CommandUser, name: str) -> Card:
    """Return the card of a persona, with its lorebooks and the pictures that the bot keeps."""
    asker.must_manage()
    found = await persona_named(context, asker.server_id, name)
    books = await context.db.lorebooks.of(asker.server_id)
    own = [one for one in books if found.id and one.persona_id == found.id]
    pictures = [one async for one in pictures_of(found, context.faces.copy_of)]
    return card_of_persona(found, own, pictures)


async def pictures_of(
    found: PersonaRecord, copy_of: Callable[[int, str], Awaitable[FacePicture | None]]
) -> AsyncIterator[CardAsset]:
    """Yield the pictures of a persona: the kept copies, or only their addresses."""
    faces = [("icon", "main", found.avatar_url)]
    faces += [("emotion", one.name, one.avatar_url) for one in found.sprites]
    for kind, name, url in faces:
        if not url:
            continue
        copy = await copy_of(found.server_id, url)
        if copy is None:
            yield CardAsset(kind, name, "unknown", url)
        else:
            ending = copy.content_type.partition("/")[2]
            yield CardAsset(kind, name, ending, "", copy.content)


def written_with_face(card: Card, form: str) -> bytes:
    """Write the card. Pictures that the bot keeps as JPEG are converted to PNG."""
    face = card.face
    if form == "png" and face is not None and face.ext == "jpeg" and face.content is not None:
        drawn = replace(face, ext="png", content=png_of_drawn(face.content))
        card = replace(card, assets=tuple(drawn if one is face else one for one in card.assets))
    return written_card(card, form)


def file_name(name: str, form: str) -> str:
    """Return a file name that every system accepts."""
    safe = "".join(sign if sign.isalnum() else "_" for sign in name)[:60].strip("_")
    return f"{safe or 'persona'}.{form}"


@app_commands.command(name="export", description="Write a persona as a character card")
@app_commands.describe(name="Which persona", form="PNG is understood by most programs")
@app_commands.rename(form="format")
@app_commands.choices(
    form=[
        app_commands.Choice(name="PNG (a picture)", value="png"),
        app_commands.Choice(name="CHARX (with all pictures)", value="charx"),
        app_commands.Choice(name="JSON (text alone)", value="json"),
    ]
)
async def export(interaction: Interaction, name: Chosen, form: str = "png") -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await interaction.response.defer(ephemeral=True, thinking=True)
    card = await card_of_stored(context, asker, name)
    content = await asyncio.to_thread(written_with_face, card, form)
    if len(content) > interaction.filesize_limit:
        raise CommandRefusedError(_too_large_to_send(len(content), interaction.filesize_limit))
    file = discord.File(io.BytesIO(content), file_name(card.name, form))
    words = translated("**{name}** as a card:", name=plain(card.name))
    await interaction.followup.send(words, file=file, ephemeral=True)


def _too_large_to_send(size: int, most: int) -> str:
    return translated(
        "The file would have {size} MB, and Discord takes {most} MB here. Take another format, or "
        "let whoever runs the bot write it: `oshaberi persona export`.",
        size=f"{size / MEGABYTE:.1f}",
        most=f"{most / MEGABYTE:.0f}",
    )


@export.autocomplete("name")
async def _names(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)
