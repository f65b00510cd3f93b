"""`oshaberi db`: upgrades the database's schema. The bot does it by itself when it starts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from oshaberi.cli.settings_options import config_option, settings_of


@click.group(short_help="Bring the database up to date.")
def command() -> None:
    """Manage the database. `run` brings it up to date when it starts; you can do it before.

    \b
    Example:
      oshaberi db upgrade
    """


@command.command(short_help="Create the database, or bring it up to date.")
@config_option
def upgrade(config_file: Path | None) -> None:
    """Create the database that the settings name, or bring its schema up to date.

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
    click.echo(f"{place} has schema {head_revision()}" + ("" if applied else "; nothing to do"))
