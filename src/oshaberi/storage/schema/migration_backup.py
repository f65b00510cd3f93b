"""Backs up a SQLite file before it is migrated: migrations cannot be undone.

It uses SQLite's own backup, which also copies what is still in the `-wal` file.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from oshaberi.storage.database_engine import OWNER_ONLY
from oshaberi.storage.storage_errors import StorageError, storage_error

SUFFIX = ".backup"
PAGES_AT_ONCE = 4096


def backup_path(file: Path, revision: str, at: datetime) -> Path:
    """Return the file's name with schema and time: `oshaberi.db.0004-20261116T120000Z.backup`."""
    moment = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    return file.with_name(f"{file.name}.{revision}-{moment}{SUFFIX}")


def backups_of(file: Path) -> tuple[Path, ...]:
    """Return the existing backups, oldest first."""
    found = file.parent.glob(f"{file.name}.*-*{SUFFIX}")
    return tuple(sorted(found, key=lambda path: path.name.rpartition("-")[2]))


async def back_up(file: Path, revision: str) -> Path:
    """Copy the file beside itself, readable by its owner only. The file may be in use."""
    path = backup_path(file, revision, datetime.now(UTC))
    try:
        await asyncio.to_thread(_copy, file, path)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        line = (
            f"the backup {path} cannot be written, so nothing was migrated: {reason}; make room, "
            "or make a backup yourself and run `oshaberi db upgrade --no-backup`"
        )
        raise storage_error(line, error) from error
    return path


def _copy(file: Path, path: Path) -> None:
    """Copy to a temporary name, and rename the copy when it is complete."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY))
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy, pages=PAGES_AT_ONCE)
            (found,) = copy.execute("PRAGMA quick_check").fetchone()
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, whoever copies it on
        if found != "ok":
            raise StorageError(f"the database {file} is damaged: {found}; restore a backup")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
