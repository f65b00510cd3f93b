"""Backups of a SQLite file: made before a migration or by the operator, and restored.

They are made by SQLite's own backup, which also copies what is still in the `-wal` file, in one
step: the bot may be running. A copy has a temporary name until it is complete and was checked.
"""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
from collections.abc import Collection
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from oshaberi.bot.storage.engine import OWNER_ONLY, PREPARE_SECONDS
from oshaberi.bot.storage.errors import StorageError, storage_error
from oshaberi.bot.storage.leases import no_owner
from oshaberi.clocks import utc_now

SUFFIX = ".backup"
MOMENT = "%Y%m%dT%H%M%SZ"
DAMAGED = "damaged"
"""Stands for the schema in the name of a file that SQLite could not read."""
_REVISION = "SELECT version_num FROM oshaberi_schema"


def backup_path(file: Path, revision: str, at: datetime) -> Path:
    """Return the file's name with schema and time: `oshaberi.db.0004-20261116T120000Z.backup`."""
    moment = at.astimezone(UTC).strftime(MOMENT)
    return file.with_name(f"{file.name}.{revision}-{moment}{SUFFIX}")


def backups_of(file: Path) -> tuple[Path, ...]:
    """Return the existing backups, oldest first."""
    found = file.parent.glob(f"{file.name}.*-*{SUFFIX}")
    return tuple(sorted(found, key=lambda path: path.name.rpartition("-")[2]))


def delete_old_backups(file: Path, days: int, now: datetime) -> tuple[Path, ...]:
    """Delete the backups whose names say that they are older than `days`. Return them."""
    old = [path for path in backups_of(file) if _is_older(path, now - timedelta(days=days))]
    for path in old:
        path.unlink(missing_ok=True)
    return tuple(old)


def _is_older(path: Path, edge: datetime) -> bool:
    moment = path.name.removesuffix(SUFFIX).rpartition("-")[2]
    with suppress(ValueError):
        return datetime.strptime(moment, MOMENT).replace(tzinfo=UTC) < edge
    return False


async def back_up(file: Path, revision: str) -> Path:
    """Copy the file beside itself, readable by its owner only. The file may be in use."""
    path = _free_path(file, revision)
    try:
        await asyncio.to_thread(_copy, file, path)
    except (OSError, sqlite3.Error) as error:
        line = (
            f"the backup {path} cannot be written, so nothing was migrated: {_reason(error)}; make "
            "room, or make a backup yourself and run `oshaberi db upgrade --no-backup`"
        )
        raise storage_error(line, error) from error
    return path


def write_backup(file: Path, path: Path) -> str:
    """Copy the database to a new file. Return its schema's revision. The bot may be running."""
    if not file.exists():
        raise StorageError(f"there is no database {file} to back up: set data_dir or database_url")
    if path.exists():
        raise StorageError(f"{path} exists already: choose another name, it is not overwritten")
    revision = revision_of(file)
    try:
        _copy(file, path)
    except FileExistsError:
        raise StorageError(f"{path} exists already: it was not overwritten") from None
    except (OSError, sqlite3.Error) as error:
        line = f"the backup {path} cannot be written: {_reason(error)}"
        raise storage_error(line, error) from error
    return revision


def restore_backup(source: Path, file: Path, known: Collection[str]) -> Path | None:
    """Put a backup in the place of the database. Return where the old database is kept now.

    `known` are the revisions of this program. Nothing changes until the last step, which replaces
    the file atomically.
    """
    _check_source(source, file, known)
    partial = file.with_name(f"{file.name}.restoring")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with no_owner(file):
            _copy(source, partial)
            kept = _keep_aside(file)
            partial.replace(file)
            _sync_folder(file.parent)
    except (OSError, sqlite3.Error) as error:
        line = f"{source} cannot be restored to {file}, which is as it was: {_reason(error)}"
        raise storage_error(line, error) from error
    finally:
        partial.unlink(missing_ok=True)
    return kept


def revision_of(path: Path) -> str:
    """Return the schema's revision.

    Raises StorageError if this is not a database of this program.
    """
    try:
        with closing(_readable(path)) as database:
            row = database.execute(_REVISION).fetchone()
    except (OSError, sqlite3.Error) as error:
        line = f"{path} is not a database of Oshaberi: {_reason(error)}"
        raise storage_error(line, error) from error
    if row is None:
        raise StorageError(f"{path} is not a database of Oshaberi: it has no schema")
    return str(row[0])


def _check_source(source: Path, file: Path, known: Collection[str]) -> None:
    if not source.is_file():
        raise StorageError(f"there is no backup {source}")
    if file.exists() and source.samefile(file):
        raise StorageError(f"{source} is the database itself: give a backup of it")
    revision = revision_of(source)
    if revision not in known:
        raise StorageError(
            f"{source} has the schema {revision}, which is newer than this program: install the "
            "newer oshaberi, or restore an older backup"
        )
    with closing(_readable(source)) as database:
        _check_pages(database, source)


def _copy(file: Path, path: Path) -> None:
    """Copy to a temporary name, and give the copy its own when it is complete."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY))
        with closing(_readable(file)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
            _check_pages(copy, file)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file is easier to copy
        _name(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _name(partial: Path, path: Path) -> None:
    """Give a complete copy its name, unless that is taken."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:  # no hard links here
        if path.exists():
            raise FileExistsError(path) from None
        partial.replace(path)


def _check_pages(database: sqlite3.Connection, file: Path) -> None:
    (found,) = database.execute("PRAGMA quick_check").fetchone()
    if found != "ok":
        raise StorageError(f"the database {file} is damaged: {found}; restore a backup")


def _readable(path: Path) -> sqlite3.Connection:
    """Open a file for reading, without creating files beside it if nobody writes to it."""
    if not os.access(path, os.R_OK):  # SQLite would only say that it cannot open the file
        raise PermissionError(errno.EACCES, "it may not be read", str(path))
    alone = not path.with_name(f"{path.name}-wal").exists()
    mode = "mode=ro&immutable=1" if alone else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=PREPARE_SECONDS)


def _keep_aside(file: Path) -> Path | None:
    """Give the old database a second name, as one file. Raises if somebody has it open."""
    if not file.exists():
        return None
    try:
        with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as database:
            row = database.execute(_REVISION).fetchone()
            database.execute("PRAGMA journal_mode=DELETE").fetchone()
        revision = DAMAGED if row is None else str(row[0])
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise StorageError(
                f"another program has {file} open: end it first, nothing was changed"
            ) from None
        revision = DAMAGED
    except sqlite3.DatabaseError:
        revision = DAMAGED
    return _link(file, revision)


def _link(file: Path, revision: str) -> Path:
    kept = _free_path(file, revision)
    os.link(file, kept)
    for beside in ("-wal", "-shm"):  # after an unclean shutdown
        with suppress(FileNotFoundError):
            file.with_name(file.name + beside).rename(kept.with_name(kept.name + beside))
    return kept


def _free_path(file: Path, revision: str) -> Path:
    at = utc_now()
    while (path := backup_path(file, revision, at)).exists():
        at += timedelta(seconds=1)
    return path


def _sync_folder(folder: Path) -> None:
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
