"""Reads database URLs, and shows them without their password."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from oshaberi.bot.storage.errors import StorageError

Kind = Literal["sqlite", "postgresql"]

_DRIVERS: dict[str, tuple[Kind, str]] = {
    "sqlite": ("sqlite", "sqlite+aiosqlite"),
    "sqlite+aiosqlite": ("sqlite", "sqlite+aiosqlite"),
    "postgres": ("postgresql", "postgresql+asyncpg"),
    "postgresql": ("postgresql", "postgresql+asyncpg"),
    "postgresql+asyncpg": ("postgresql", "postgresql+asyncpg"),
}
OPTIONS = ("host", "port", "prepared_statement_cache_size", "ssl")
ALLOWED = "sqlite:///path/to/file or postgresql://user:password@host/name"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database address. `file` is None for a server and for SQLite in memory."""

    kind: Kind
    url: URL
    file: Path | None

    @property
    def in_memory(self) -> bool:
        return self.kind == "sqlite" and self.file is None

    @property
    def is_pooled(self) -> bool:
        """Return whether PgBouncer may use another connection for each transaction."""
        return self.url.query.get("prepared_statement_cache_size") == "0"

    @property
    def for_postgres_programs(self) -> str:
        """Return the URL for `pg_dump`. It asks for the password, or reads it from PGPASSWORD."""
        url, socket = self.url, ("host", "port")
        plain = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
        query = {name: value for name, value in url.query.items() if name in socket}
        return plain.set(query=query).render_as_string()

    def __str__(self) -> str:
        if self.file is not None:
            return str(self.file)
        return self.url.set(drivername=self.kind).render_as_string(hide_password=True)


def address_of(url: str) -> DatabaseAddress:
    try:
        given = make_url(url)
    except (ArgumentError, ValueError):
        # The URL may hold a password: it is not repeated.
        raise StorageError(f"database_url is not a URL; allowed is {ALLOWED}") from None
    if given.drivername not in _DRIVERS:
        raise StorageError(
            f"database_url: {given.drivername!r} is not supported; allowed is {ALLOWED}"
        )
    kind, driver = _DRIVERS[given.drivername]
    if kind == "postgresql":
        given = given.set(query=_options(given))
    in_file = kind == "sqlite" and given.database not in (None, "", ":memory:")
    file = Path(given.database).expanduser() if in_file and given.database else None
    database = given.database if file is None else str(file)
    return DatabaseAddress(kind, given.set(drivername=driver, database=database), file)


def _options(url: URL) -> dict[str, str | tuple[str, ...]]:
    """Return the options after the `?`. The driver's name for libpq's `sslmode` is different."""
    options = {"ssl" if name == "sslmode" else name: value for name, value in url.query.items()}
    unknown = ", ".join(sorted(set(options) - set(OPTIONS)))
    if unknown:
        raise StorageError(
            f"database_url has an unknown option ({unknown}): remove it; known are "
            f"{', '.join(OPTIONS)} and sslmode"
        )
    return options
