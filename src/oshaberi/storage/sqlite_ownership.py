"""A lock file: one bot for each SQLite file and instance name.

Two bots would take each other's running answers for those of a crashed process, and tell people so.
The lock ends with the process, however it ends; the empty lock file stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from oshaberi.storage.database_engine import OWNER_ONLY, unwritable
from oshaberi.storage.database_urls import address_of
from oshaberi.storage.storage_errors import StorageAwayError


@contextmanager
def sole_owner(database_url: str, instance: str) -> Iterator[None]:
    """Hold the lock for the block. Raises StorageAwayError if another process holds it."""
    file = address_of(database_url).file
    if file is None:
        yield
        return
    lock = _opened(file, instance)
    try:
        _take(lock, file)
        yield
    finally:
        os.close(lock)


@contextmanager
def no_owner(file: Path) -> Iterator[None]:
    """Hold the locks of all bots of this file, so that none starts. Raises if one is running."""
    with ExitStack() as held:
        for path in sorted(file.parent.glob(f"{file.name}.*.lock")):
            lock = os.open(path, os.O_RDWR)
            held.callback(os.close, lock)
            _take(lock, file)
        yield


def _opened(file: Path, instance: str) -> int:
    beside = file.with_name(f"{file.name}.{quote(instance, safe='')}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return os.open(beside, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
    except OSError as error:
        raise unwritable(file, error) from error


def _take(lock: int, file: Path) -> None:
    with suppress(ImportError):  # not on Windows
        import fcntl

        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageAwayError(
                f"another oshaberi runs on {file}; end it, or give this one a folder of its own "
                "(OSHABERI_DATA_DIR)"
            ) from None
