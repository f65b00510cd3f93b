"""Checks the database and Redis: whether they answer, and whether the schema is up to date."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.cli.doctor_checks.machine_checks import unwritable

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings
    from oshaberi.bot.storage import SecretVault

PATIENCE_S = 10.0
LOCK_S = 2.0
KEY_VARIABLE = "OSHABERI_SECRET_KEY"


def database_file(settings: LoadedSettings) -> Path | None:
    """Return the file of a SQLite database; None for other databases and unreadable URLs."""
    try:
        from oshaberi.bot.storage import StorageError
        from oshaberi.bot.storage.database_urls import address_of
    except ImportError:
        return None
    try:
        return address_of(settings.database_url).file
    except StorageError:
        return None


def _read_only(file: Path | None) -> str | None:
    """Return why a SQLite database cannot be changed, or None."""
    if file is None:
        return None
    if file.exists() and not os.access(file, os.W_OK):
        return f"{file} cannot be written to"
    return unwritable(file.parent)


def _locked(file: Path | None) -> str | None:
    """Return a complaint if another program keeps a SQLite database locked, else None.

    A running bot holds the lock for milliseconds.
    """
    if file is None or not file.exists():
        return None
    try:
        with closing(sqlite3.connect(file, timeout=LOCK_S, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        return f"{file} cannot be changed: {error}"
    return None


async def database(settings: LoadedSettings) -> Finding:
    name, place = "database", settings.display("database_url")
    try:
        from oshaberi.bot.storage import StorageError, current_revision, head_revision
    except ImportError as missing:
        return bad(name, f"needs {missing.name}", 'pip install "oshaberi[bot]"')
    try:
        async with asyncio.timeout(PATIENCE_S):
            current = await current_revision(settings.database_url)
        head = head_revision()
    except TimeoutError:
        return bad(name, f"{place} does not answer", "start it, or correct database_url")
    except StorageError as error:
        return bad(name, str(error), "see: oshaberi settings database_url")
    problem = _read_only(database_file(settings))
    if problem is not None:
        return bad(name, problem, "make it writable, or correct database_url")
    locked = await asyncio.to_thread(_locked, database_file(settings))
    if locked is not None:
        return bad(name, locked, "end the program that keeps it locked")
    if current is None:
        return note(name, f"{place} is empty", "the bot creates its tables when it starts")
    if current > head:
        text = f"{place} has schema {current}; this version knows only {head}"
        return bad(name, text, "install the newer oshaberi")
    if current < head:
        return note(name, f"{place} has schema {current} of {head}", "oshaberi db upgrade")
    return good(name, f"{place}, schema {current}")


async def secret_key(settings: LoadedSettings, environ: Mapping[str, str]) -> Finding:
    """Check that the key decrypts the stored secrets. It is not created here."""
    name, file = "secret key", settings.secret_key_file
    try:
        from oshaberi.bot.storage import SecretVault, StorageError
    except ImportError as missing:
        return bad(name, f"needs {missing.name}", 'pip install "oshaberi[bot]"')
    is_there = bool(environ.get(KEY_VARIABLE, "").strip()) or file.exists()
    problem = None if is_there else unwritable(file.parent)
    if problem is not None:
        return bad(name, problem, f"make it writable, or set {KEY_VARIABLE}")
    try:
        if is_there:
            vault = SecretVault.from_environment_or_file(file, environ)
        else:
            vault = SecretVault([SecretVault.new_key()], f"the new one in {file}")
        await _check_secrets(settings.database_url, vault)
    except StorageError as error:
        return bad(
            name, str(error), f"check {KEY_VARIABLE}; see: oshaberi settings secret_key_file"
        )
    return good(name, f"from {vault.source}" if is_there else f"{file} will be created")


async def _check_secrets(url: str, vault: SecretVault) -> None:
    """Check the secrets. If the database does not answer, another finding says so."""
    from oshaberi.bot.storage import StorageError, current_revision, head_revision
    from oshaberi.bot.storage.database import check_secrets

    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            try:
                is_current = await current_revision(url) == head_revision()
            except StorageError:
                return
            if is_current:
                await check_secrets(url, vault)


async def redis(settings: LoadedSettings) -> Finding:
    name = "redis"
    if settings.redis_url is None:
        return good(name, "not used; one process does not need it")
    try:
        from redis.asyncio import from_url
        from redis.exceptions import RedisError
    except ImportError:
        return bad(
            name, "redis_url is set, but redis is not installed", 'pip install "oshaberi[redis]"'
        )
    place = settings.display("redis_url")
    try:
        client = from_url(settings.redis_url)
        async with asyncio.timeout(PATIENCE_S), client:
            await client.ping()
    except (RedisError, OSError, TimeoutError, ValueError) as error:
        return bad(name, f"{place}: {_reason(error)}", "start it, or correct redis_url")
    return good(name, f"{place} answers")


def _reason(error: Exception) -> str:
    """Return the kind of the error, not its text, which could contain the URL."""
    return "does not answer" if isinstance(error, TimeoutError) else type(error).__name__
