"""`oshaberi db`: upgrades, backs up and restores the database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oshaberi.cli.options import config_option, settings_of

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings


FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(short_help="Upgrade, back up or restore the database.")
def command() -> None:
    """Manage the database. `run` brings it up to date when it starts; you can do it before.

    \b
    Examples:
      oshaberi db upgrade
      oshaberi db backup copy.db
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
    _load_storage()
    if dry_run:
        _tell_plan(settings, backup)
    else:
        _migrate(settings, backup)


@command.command(short_help="Copy the database to a file.")
@click.argument("file", type=FILE)
@config_option
def backup(file: Path, config_file: Path | None) -> None:
    """Copy the SQLite database to FILE, which must not exist. The bot may be running.

    FILE can be read by you only. It does not contain secret.key, without which the stored API keys
    are lost: back that up too. For PostgreSQL it prints the pg_dump command to use.

    \b
    Examples:
      oshaberi db backup oshaberi-2026-11-18.db
      OSHABERI_DATA_DIR=/var/lib/oshaberi oshaberi db backup /backups/oshaberi.db
    """
    settings = settings_of(config_file)
    _load_storage()
    from oshaberi.bot.storage.sqlite_backups import write_backup

    place = _sqlite_file(settings, "back it up", f"pg_dump --format=custom --file={file}", "")
    revision = write_backup(place, file)
    click.echo(f"backed up {place} to {file} (schema {revision}, {file.stat().st_size} bytes)")


@command.command(short_help="Put a backup in the database's place.")
@click.argument("file", type=FILE)
@config_option
def restore(file: Path, config_file: Path | None) -> None:
    """Replace the SQLite database with FILE. Stop the bot first.

    FILE is a copy made by `db backup`, or the one made before a migration. It stays as it is, and
    the old database is kept beside the new one. For PostgreSQL the command names the pg_restore
    that does it.

    \b
    Examples:
      oshaberi db restore oshaberi-2026-11-18.db
      oshaberi db restore oshaberi.db.0004-20261116T120000Z.backup
    """
    settings = settings_of(config_file)
    _load_storage()
    from oshaberi.bot.storage.schema.migration import known_revisions
    from oshaberi.bot.storage.sqlite_backups import restore_backup, revision_of

    place = _sqlite_file(settings, "restore it", "pg_restore --clean --if-exists", f" {file}")
    kept = restore_backup(file, place, known_revisions())
    if kept is not None:
        click.echo(f"the old database is kept as {kept}")
    click.echo(f"restored {place} from {file} (schema {revision_of(place)})")


def _load_storage() -> None:
    try:
        import oshaberi.bot.storage.schema.migration  # noqa: F401
    except ImportError as missing:
        what = f'the database needs {missing.name}: pip install "oshaberi[bot]"'
        raise click.ClickException(what) from None


def _sqlite_file(settings: LoadedSettings, deed: str, program: str, end: str) -> Path:
    """Return the file of a SQLite database. For PostgreSQL, name the program that does it."""
    from oshaberi.bot.storage.database_urls import address_of

    address = address_of(settings.database_url)
    if address.kind == "postgresql":
        line = f"{program} --dbname={address.for_postgres_programs}{end}"
        raise click.ClickException(f"the database is PostgreSQL, {deed} with: {line}")
    if address.file is None:
        raise click.ClickException("the database is in memory: there is no file")
    return address.file


def _migrate(settings: LoadedSettings, backup: bool) -> None:
    from oshaberi.bot.storage import head_revision
    from oshaberi.bot.storage import upgrade as migrate

    def tell_backup(path: Path) -> None:
        click.echo(f"backed up to {path}")

    applied = asyncio.run(migrate(settings.database_url, backup=backup, on_backup=tell_backup))
    for revision in applied:
        click.echo(f"applied {revision}")
    place = settings.display("database_url")
    click.echo(f"{place} has schema {head_revision()}" + ("" if applied else "; nothing to do"))


def _tell_plan(settings: LoadedSettings, backup: bool) -> None:
    from oshaberi.bot.storage.schema.migration import plan_upgrade

    plan = asyncio.run(plan_upgrade(settings.database_url))
    place = settings.display("database_url")
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
