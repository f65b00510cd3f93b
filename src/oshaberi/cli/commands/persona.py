"""`oshaberi persona`: brings character cards into a server's personas, and writes them as cards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from oshaberi.cli.commands.data import DISCORD_ID, with_database
from oshaberi.cli.options import config_option, settings_of, whisper
from oshaberi.errors import ConfigError

if TYPE_CHECKING:
    from oshaberi.bot.characters.cards import Card
    from oshaberi.bot.storage import Database

T = TypeVar("T")
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

    Without --server nothing is stored. Pictures need Discord, so only `/persona import` keeps them.
    All cards are read before the first is stored.

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
    stored = _on_database(config_file, lambda db: _store(db, server_id, cards))
    for name in stored:
        click.echo(f"stored {name}")
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
    """Write a persona with its lorebooks as a card.

    \b
    Example:
      oshaberi persona export Mochi --server 234567890123456789 --out mochi.png
    """
    form = out.suffix.lower().lstrip(".")
    if form not in FORMS:
        raise ConfigError(f"{out}: must end in .png, .charx or .json")
    card = _on_database(config_file, lambda db: _card(db, server_id, name))
    from oshaberi.bot.characters.card_files import written_card

    try:
        out.write_bytes(written_card(card, form))
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


def _on_database(config_file: Path | None, work: Callable[[Database], Awaitable[T]]) -> T:
    _needs_bot()
    return with_database(settings_of(config_file), work)


async def _store(db: Database, server_id: int, cards: Sequence[Card]) -> list[str]:
    """Store the cards. All are checked before the first is stored."""
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
    for number, one in enumerate(made):
        persona = replace(one.persona, is_default=is_first and number == 0)
        saved = await db.personas.save(persona)
        if one.book is not None:
            await db.lorebooks.save(replace(one.book, persona_id=saved.id))
    return [one.persona.name for one in made]


async def _card(db: Database, server_id: int, name: str) -> Card:
    from oshaberi.bot.characters.persona_cards import card_of_persona

    found = await db.personas.get(server_id, name)
    if found is None:
        names = ", ".join(one.name for one in await db.personas.of(server_id)) or "none"
        raise ConfigError(f"there is no persona {name}; there are: {names}")
    books = [one for one in await db.lorebooks.of(server_id) if one.persona_id == found.id]
    return card_of_persona(found, books)
