"""`oshaberi data`: exports, moves and deletes what is stored about a user or for a server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from oshaberi.cli.options import config_option, settings_of, whisper
from oshaberi.clocks import utc_now
from oshaberi.terminal_output import counted

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings
    from oshaberi.bot.moving.move import Arrival
    from oshaberi.bot.storage import Database
    from oshaberi.bot.storage.schema.ownership import DataSubject

T = TypeVar("T")


class DiscordId(click.ParamType[int]):
    """A number that can be an id. The help does not show its range, unlike `click.IntRange`."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(click.INT.convert(value, param, ctx))
        if not 1 <= number < 2**63:
            self.fail(f"{number} is not in the range of Discord's ids.", param, ctx)
        return number


DISCORD_ID = DiscordId()
OWNER_ONLY = 0o600
ERASED_S = 30.0
CACHED = frozenset({"server_settings", "personas", "sprites", "lorebooks", "models", "api_keys"})
"""Tables that a running bot reads only once."""

user_option = click.option(
    "--user", "user_id", type=DISCORD_ID, metavar="ID", help="What is stored about this user."
)
memories_option = click.option(
    "--memories",
    is_flag=True,
    help="With the facts that people asked the bot to remember: personal data.",
)
server_option = click.option(
    "--server", "server_id", type=DISCORD_ID, metavar="ID", help="What is stored for this server."
)


ARCHIVE = click.Path(dir_okay=False, path_type=Path)


@click.group(short_help="Export, move or delete a user's or a server's data.")
def command() -> None:
    """Export or delete what is stored about a user, in all servers, or for a server.

    With an archive, a server moves to another instance of the bot.

    \b
    Examples:
      oshaberi data export --user 123456789012345678
      oshaberi data export --server 234567890123456789 server.zip
      oshaberi data import server.zip --dry-run
    """


@command.command(short_help="Write what is stored as JSON, or a server as an archive.")
@click.argument("archive", required=False, metavar="[ARCHIVE]", type=ARCHIVE)
@user_option
@server_option
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the JSON to this file, which only you can read, instead of stdout.",
)
@memories_option
@config_option
def export(
    archive: Path | None,
    user_id: int | None,
    server_id: int | None,
    out: Path | None,
    memories: bool,
    config_file: Path | None,
) -> None:
    """Write everything that is stored about a user or for a server as JSON. API keys are left out.

    With ARCHIVE, a file that must not exist, write what a server needs to go on in another instance
    of the bot: personas with their cards, sprites and pictures, lorebooks, settings, and models
    without keys. `data import` reads it.

    \b
    Examples:
      oshaberi data export --user 123456789012345678 --out user.json
      oshaberi data export --server 234567890123456789
      oshaberi data export --server 234567890123456789 server.zip
    """
    subject = _subject(user_id, server_id)
    if archive is not None:
        _export_archive(archive, subject, out, memories, config_file)
        return
    if memories:
        raise click.UsageError("--memories needs an ARCHIVE; JSON has everything anyway")

    async def work(db: Database) -> dict[str, Any]:
        return await db.personal_data.export(subject)

    records = with_database(settings_of(config_file), work)
    document = {
        f"{subject.kind}_id": str(subject.id),
        "exported_at": utc_now().isoformat(timespec="seconds"),
        "records": records,
    }
    content = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    if out is None:
        click.echo(content, nl=False)
    else:
        _write(out, content)
        whisper(f"{counted(sum(map(len, records.values())), 'record')} in {out}")


def _export_archive(
    archive: Path, subject: DataSubject, out: Path | None, memories: bool, config_file: Path | None
) -> None:
    if subject.kind == "user":
        raise click.UsageError("an ARCHIVE is of a server: give --server ID")
    if out is not None:
        raise click.UsageError("give either ARCHIVE or --out FILE")
    settings = settings_of(config_file)
    from oshaberi.bot.moving.move import Packed, in_words, pack
    from oshaberi.bot.storage.picture_files import PictureFiles

    async def work(db: Database) -> Packed:
        files = PictureFiles(settings.data_dir)
        with new_file(archive) as file:
            return await pack(db, files, subject.id, file, memories=memories)

    packed = with_database(settings, work)
    click.echo(f"wrote {in_words(packed.counts)} to {archive}")
    if packed.lost:
        whisper(
            f"{counted(packed.lost, 'picture')} cannot come: there is no copy in the data folder"
        )
    if packed.stay:
        rows = ", ".join(f"{number} of {table}" for table, number in packed.stay.items())
        whisper(f"not in it: {rows}")
    if not memories and packed.stay.get("facts"):
        whisper("facts are about people: add --memories if they should come along")


@command.command(name="import", short_help="Bring in a server from an archive.")
@click.argument(
    "archive", metavar="ARCHIVE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--server",
    "server_id",
    type=DISCORD_ID,
    metavar="ID",
    help="Bring it into this server instead of the one that it is of.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would come.")
@click.option("--merge", is_flag=True, help="Bring in what is new; what the server has stays.")
@click.option("--replace", is_flag=True, help="Delete what the server has of these kinds first.")
@memories_option
@click.option(
    "--addresses",
    is_flag=True,
    help="Bring in models at an address of their own; keys are sent there.",
)
@config_option
def import_(
    archive: Path,
    server_id: int | None,
    dry_run: bool,
    merge: bool,
    replace: bool,
    memories: bool,
    addresses: bool,
    config_file: Path | None,
) -> None:
    """Bring in what `data export --server ID ARCHIVE` wrote: everything that can come, or nothing.

    If the server has personas, lorebooks, settings or models already, nothing comes without --merge
    or --replace. What cannot come is listed with the reason: channels and roles if it is another
    server, settings that you do not allow, models without a key or an address that you trust.

    \b
    Examples:
      oshaberi data import server.zip --dry-run
      oshaberi data import server.zip --server 234567890123456789
    """
    if merge and replace:
        raise click.UsageError("give either --merge or --replace")
    settings = settings_of(config_file)
    _load_database()
    from oshaberi.bot.moving.archive import ArchiveError, ArchiveReader
    from oshaberi.bot.moving.checks import Target
    from oshaberi.bot.moving.move import MeetsStored, bring_in, plan_arrival
    from oshaberi.bot.storage.picture_files import PictureFiles

    rule: MeetsStored = "merge" if merge else "replace" if replace else "refuse"

    async def work(db: Database) -> Arrival:
        await db.opt_outs.refresh()
        with archive.open("rb") as file:
            reader = ArchiveReader(file)
            wanted = server_id or reader.server_id
            target = Target(
                wanted, settings, db.opt_outs, takes_addresses=addresses, takes_memories=memories
            )
            if dry_run:
                return await plan_arrival(db, reader, target, rule)
            return await bring_in(db, PictureFiles(settings.data_dir), reader, target, rule)

    try:
        arrival = with_database(settings, work)
    except ArchiveError as error:
        raise click.ClickException(f"{archive}: {error}") from None
    _tell_arrival(arrival, dry_run)


def _tell_arrival(arrival: Arrival, dry_run: bool) -> None:
    from oshaberi.bot.moving.move import in_words
    from oshaberi.terminal_output import harmless

    if arrival.replaces:
        verb = "would delete" if dry_run else "deleted"
        click.echo(f"{verb} {in_words(arrival.replaces)} of the server")
    for name in arrival.names:
        click.echo(harmless(f"  {name}"))
    click.echo(f"{'would bring in' if dry_run else 'brought in'} {in_words(arrival.counts)}")
    for remark in arrival.remarks:
        whisper(harmless(f"does not come: {remark}"))
    if dry_run:
        whisper("nothing was changed")
    elif arrival.counts:
        whisper("a bot that is running still has the old data in memory: restart it")


@command.command(short_help="Delete what is stored.")
@user_option
@server_option
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
def delete(
    user_id: int | None,
    server_id: int | None,
    dry_run: bool,
    yes: bool,
    config_file: Path | None,
) -> None:
    """Delete everything that is stored about a user or for a server. This cannot be undone.

    The bot may be running. What a user has chosen with `/privacy opt-out` stays.

    \b
    Examples:
      oshaberi data delete --user 123456789012345678 --dry-run
      oshaberi data delete --server 234567890123456789 --yes
    """
    subject = _subject(user_id, server_id)
    settings = settings_of(config_file)

    async def count(db: Database) -> dict[str, int]:
        return await db.personal_data.counts(subject)

    async def remove(db: Database) -> dict[str, int]:
        from oshaberi.bot.storage.picture_files import PictureFiles

        gone = await db.personal_data.delete(subject)
        if subject.kind == "server":
            await PictureFiles(settings.data_dir).delete_server(subject.id)
        if not await db.wait_until_erased(ERASED_S):
            whisper(
                "another program reads the database: what was deleted is in its files until that "
                "ends and the bot has run for an hour, or was started again"
            )
        return gone

    if not dry_run:
        _confirm(subject, yes)
    found = with_database(settings, count if dry_run else remove)
    verb = "would delete" if dry_run else "deleted"
    for table, number in found.items():
        click.echo(f"{verb} {number} of {table}")
    click.echo(f"{verb} {counted(sum(found.values()), 'record')} of {subject.kind} {subject.id}")
    if not dry_run:
        _tell_what_else(settings, found)


def _subject(user_id: int | None, server_id: int | None) -> DataSubject:
    if (user_id is None) == (server_id is None):
        raise click.UsageError("give either --user ID or --server ID", click.get_current_context())
    _load_database()
    from oshaberi.bot.storage.schema.ownership import DataSubject

    if user_id is not None:
        return DataSubject("user", user_id)
    return DataSubject("server", server_id or 0)


def _load_database() -> None:
    try:
        import oshaberi.bot.storage.schema.ownership  # noqa: F401
    except ImportError as missing:
        what = f'the database needs {missing.name}: pip install "oshaberi[bot]"'
        raise click.ClickException(what) from None


def with_database(settings: LoadedSettings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Run the work on the database, which must exist and be up to date: it is not migrated here."""
    from oshaberi.bot.storage import Database, SecretVault, current_revision, head_revision

    async def main() -> T:
        if await current_revision(settings.database_url) != head_revision():
            place = settings.display("database_url")
            raise click.ClickException(f"{place} is not up to date: run `oshaberi db upgrade`")
        vault = SecretVault.from_environment_or_file(settings.secret_key_file)
        async with Database.open(settings.database_url, vault) as db:
            return await work(db)

    return asyncio.run(main())


def _confirm(subject: DataSubject, yes: bool) -> None:
    if yes:
        return
    what = f"Delete everything about {subject.kind} {subject.id}?"
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("add --yes to delete, or --dry-run", click.get_current_context())
    click.confirm(what, abort=True, err=True)


def _write(path: Path, content: str) -> None:
    try:
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "w", encoding="utf-8"
        ) as file:
            file.write(content)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that only its owner can read; delete it again if the block fails."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    except FileExistsError:
        raise click.ClickException(f"{path}: exists already; name a new file") from None
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(number, "wb") as file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _tell_what_else(settings: LoadedSettings, deleted: Mapping[str, int]) -> None:
    """Name the backups that have changed, and say if a running bot must be restarted."""
    from oshaberi.bot.storage.database_urls import address_of
    from oshaberi.bot.storage.sqlite_backups import backups_of

    file = address_of(settings.database_url).file
    if file is None:
        return
    for path in backups_of(file):
        whisper(f"also deleted in the backup {path}")
    if CACHED & deleted.keys():
        whisper("a bot that is running still has it in memory: restart it")
