"""`oshaberi db`: upgrades the database's schema. The bot does it by itself when it starts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oshaberi.cli.config_file_option import config_option, settings_of

if TYPE_CHECKING:
    from oshaberi.config import LoadedSettings


@click.group(short_help="Bring the database up to date.")
def command() -> None:
    """Manage the database. `run` brings it up to date when it starts; you can do it before.

    \b
    Example:
      oshaberi db upgrade
    """


@command.command(short_help="Create the database, or bring it up to date.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--backup/--no-backup", default=True, help="Copy a SQLite file first.", show_default=True
)
@config_option
def upgrade(dry_run: bool, backup: bool, config_file: Path | None) -> None:
    """Create the database that the settings name, or bring its schema up to date.

    A SQLite file is copied first; the copy is beside it. Back up PostgreSQL yourself (pg_dump):
    you cannot go back to an older schema.

    \b
    Examples:
      oshaberi db upgrade --dry-run
      oshaberi db upgrade
      OSHABERI_DATABASE_URL=postgresql://bot@db/oshaberi oshaberi db upgrade
    """
    settings = settings_of(config_file)
    try:
        import oshaberi.storage.schema.upgrade_plan  # noqa: F401
    except ImportError as missing:
        what = f'the database needs {missing.name}: pip install "oshaberi[bot]"'
        raise click.ClickException(what) from None
    if dry_run:
        _tell_plan(settings, backup)
    else:
        _migrate(settings, backup)


def _migrate(settings: LoadedSettings, backup: bool) -> None:
    from oshaberi.storage import head_revision
    from oshaberi.storage import upgrade as migrate

    def tell_backup(path: Path) -> None:
        click.echo(f"backed up to {path}")

    applied = asyncio.run(migrate(settings.database_url, backup=backup, on_backup=tell_backup))
    for revision in applied:
        click.echo(f"applied {revision}")
    place = settings.shown("database_url")
    click.echo(f"{place} has schema {head_revision()}" + ("" if applied else "; nothing to do"))


def _tell_plan(settings: LoadedSettings, backup: bool) -> None:
    from oshaberi.storage.schema.upgrade_plan import plan_upgrade

    plan = asyncio.run(plan_upgrade(settings.database_url))
    place = settings.shown("database_url")
    has = f"has schema {plan.current}" if plan.current else "has no schema yet"
    if not plan.pending:
        click.echo(f"{place} {has}; nothing to do")
        return
    click.echo(f"{place} {has}")
    if plan.copied_file is not None and backup:
        click.echo(f"would back up {plan.copied_file}")
    for step in plan.pending:
        click.echo(f"would apply {step.revision}: {step.what}")
    click.echo("nothing was changed")
