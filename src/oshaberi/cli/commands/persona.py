"""`oshaberi persona`: brings character cards into a server's personas, and writes them as cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oshaberi.cli.commands.data import DISCORD_ID, with_database
from oshaberi.cli.options import config_option, settings_of, whisper
from oshaberi.errors import ConfigError

if TYPE_CHECKING:
    from oshaberi.bot.characters.cards import Card
    from oshaberi.bot.config import LoadedSettings
    from oshaberi.bot.faces.pictures import FacePicture
    from oshaberi.bot.storage import Database
    from oshaberi.bot.storage.records import PersonaRecord

FORMS = ("png", "charx", "json")


@click.group(short_help="Bring in character cards, and write personas as cards.")
def command() -> None:
    """Bring in character cards, and write personas as cards.

    \b
    Example:
      oshaberi persona import mochi.png
    """


@command.command(name="import", short_help="Bring in character cards.")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--server",
    "server_id",
    type=DISCORD_ID,
    metavar="ID",
    help="Store them for this server; without it they are only shown.",
)
@config_option
def import_(files: tuple[Path, ...], server_id: int | None, config_file: Path | None) -> None:
    """Show what character cards bring (PNG, JSON, CHARX), and store them for a server.

    Without --server nothing is stored. Pictures are kept in the data folder; the bot uploads them
    before it first shows them. All cards are read before the first is stored.

    \b
    Examples:
      oshaberi persona import mochi.png
      oshaberi persona import mochi.png anko.charx --server 234567890123456789
    """
    cards = [_read(path) for path in files]
    from oshaberi.bot.characters.persona_cards import preview
    from oshaberi.terminal_output import harmless

    for card in cards:
        click.echo(harmless(preview(card).replace("**", "")))
    if server_id is None:
        whisper("nothing is stored; add --server ID")
        return
    settings = _settings(config_file)
    stored, missing = with_database(
        settings, lambda db: _store(db, settings.data_dir, server_id, cards)
    )
    for name in stored:
        click.echo(harmless(f"stored {name}"))
    for line in missing:
        whisper(harmless(f"left out: {line.removeprefix('- ')}"))
    whisper("a bot that is running still has the old personas in memory: restart it")


@command.command(short_help="Write a persona as a card.")
@click.argument("name")
@click.option(
    "--server",
    "server_id",
    type=DISCORD_ID,
    metavar="ID",
    required=True,
    help="The persona's server.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file that ends in .png, .charx or .json.",
)
@config_option
def export(name: str, server_id: int, out: Path, config_file: Path | None) -> None:
    """Write a persona with its lorebooks as a card: a .charx has its sprites too.

    \b
    Example:
      oshaberi persona export Mochi --server 234567890123456789 --out mochi.png
    """
    form = out.suffix.lower().lstrip(".")
    if form not in FORMS:
        raise ConfigError(f"{out}: must end in .png, .charx or .json")
    settings = _settings(config_file)
    card = with_database(settings, lambda db: _card(db, settings.data_dir, server_id, name))
    from oshaberi.bot.commands.personas.card_commands import written_with_face

    try:
        out.write_bytes(written_with_face(card, form))
    except OSError as error:
        raise click.ClickException(f"{out}: cannot be written: {error.strerror}") from None


def _read(path: Path) -> Card:
    _needs_bot()
    from oshaberi.bot.characters.card_files import check_size, read_card

    try:
        check_size(path.stat().st_size)
        return read_card(path.read_bytes(), path.name)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _needs_bot() -> None:
    if find_spec("sqlalchemy") is None:
        raise click.ClickException('personas need sqlalchemy: pip install "oshaberi[bot]"')


def _settings(config_file: Path | None) -> LoadedSettings:
    _needs_bot()
    return settings_of(config_file)


async def _store(
    db: Database, data_dir: Path, server_id: int, cards: Sequence[Card]
) -> tuple[list[str], list[str]]:
    """Store the cards. All are checked before the first is stored.

    Return the names, and a line for each picture that is left out.
    """
    from oshaberi.bot.characters.persona_cards import persona_of_card
    from oshaberi.bot.conversation.transcript import name_problem
    from oshaberi.text.normalize.webhook_names import MAX_UNITS

    taken = [one.name for one in await db.lorebooks.of(server_id)]
    made = []
    for card in cards:
        name = " ".join(card.name.split())
        if (reason := name_problem(name, MAX_UNITS)) is not None:
            raise ConfigError(f"{name}: a persona cannot be called that: {reason}")
        if await db.personas.get(server_id, name) is not None:
            raise ConfigError(f"there is already a persona {name}")
        made.append(persona_of_card(card, server_id, name, taken))
        taken += [made[-1].book.name] if made[-1].book is not None else []
    is_first = not await db.personas.of(server_id)
    missing: list[str] = []
    for number, (card, one) in enumerate(zip(cards, made, strict=True)):
        persona, lines = await _with_pictures(db, data_dir, card, one.persona)
        missing += lines
        saved = await db.personas.save(replace(persona, is_default=is_first and number == 0))
        if one.book is not None:
            await db.lorebooks.save(replace(one.book, persona_id=saved.id))
    return [one.persona.name for one in made], missing


async def _with_pictures(
    db: Database, data_dir: Path, card: Card, persona: PersonaRecord
) -> tuple[PersonaRecord, list[str]]:
    """Keep the pictures of a card as copies. Return a line for each that is left out."""
    from oshaberi.bot.commands.personas.picture_uploads import left_out_line, usable_sprites
    from oshaberi.bot.faces.kept_pictures import keep_as_copy
    from oshaberi.bot.faces.pictures import PictureRefusedError
    from oshaberi.bot.storage.picture_files import PictureFiles
    from oshaberi.bot.storage.records import SpriteRecord

    files = PictureFiles(data_dir)
    moods = {one.name: one.content for one in card.moods if one.content is not None}
    named, missing = usable_sprites(moods, persona)
    sprites: list[SpriteRecord] = []
    if card.face is not None and card.face.content is not None:
        try:
            address = await keep_as_copy(db, files, persona.server_id, card.face.content)
            persona = replace(persona, avatar_url=address)
        except PictureRefusedError as refusal:
            missing.append(left_out_line(persona.name, refusal.args[0]))
    for name, content in named.items():
        try:
            address = await keep_as_copy(db, files, persona.server_id, content)
            sprites.append(SpriteRecord(name, address))
        except PictureRefusedError as refusal:
            missing.append(left_out_line(name, refusal.args[0]))
    return replace(persona, sprites=tuple(sprites)), missing


async def _card(db: Database, data_dir: Path, server_id: int, name: str) -> Card:
    from oshaberi.bot.characters.persona_cards import card_of_persona
    from oshaberi.bot.commands.personas.card_commands import pictures_of
    from oshaberi.bot.faces.kept_pictures import stored_copy
    from oshaberi.bot.storage.picture_files import PictureFiles

    found = await db.personas.get(server_id, name)
    if found is None:
        names = ", ".join(one.name for one in await db.personas.of(server_id)) or "none"
        raise ConfigError(f"there is no persona {name}; there are: {names}")
    books = [one for one in await db.lorebooks.of(server_id) if one.persona_id == found.id]
    files = PictureFiles(data_dir)

    async def copy_of(server_id: int, address: str) -> FacePicture | None:
        return await stored_copy(db, files, server_id, address)

    return card_of_persona(found, books, [one async for one in pictures_of(found, copy_of)])
