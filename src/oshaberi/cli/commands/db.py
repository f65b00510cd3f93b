"""`oshaberi db`: upgrades the database's schema. The bot does it by itself when it starts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from oshaberi.cli.settings_options import config_option, settings_of


@click.group(short_help="Bring the database up to date.")
def command() -> None:
    """The database: `run` migrates it at its start; here it can be done before.

    \b
    Example:
      oshaberi db upgrade
    """


@command.command(short_help="Make the database, or migrate it.")
@config_option
def upgrade(config_file: Path | None) -> None:
    """Make the database of the settings if it is not there, and bring its schema up to date.

    \b
    Examples:
      oshaberi db upgrade
      OSHABERI_DATABASE_URL=postgresql://bot@db/oshaberi oshaberi db upgrade
    """
    settings = settings_of(config_file)
    try:
        from oshaberi.storage import head_revision
        from oshaberi.storage import upgrade as migrate
    except ImportError as missing:
        what = f'the database needs {missing.name}: pip install "oshaberi[bot]"'
        raise click.ClickException(what) from None
    applied = asyncio.run(migrate(settings.database_url))
    for revision in applied:
        click.echo(f"applied {revision}")
    place = settings.shown("database_url")
    click.echo(f"{place} is at {head_revision()}" + ("" if applied else ", as it was"))
