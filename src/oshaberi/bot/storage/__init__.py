"""What outlives a process: servers, personas, models, keys, memories, the journal.

- `database` is the entry point: `repositories` take and return `records` and `usage` counts. All
  are built on `transactions`.
- `schema`: the tables, their migrations, and who owns which row. `group_commit` joins writes into
  few transactions, which `batches` executes. `outages`: no caller waits for a database that does
  not answer. `changes`: tells caches about changes.
- `database_urls`, `engine`: connections. `leases`: one process for each instance name.
- `sqlite_erasure` removes deleted text from SQLite's files, `sqlite_backups` copies them.
- `secret_vault` encrypts keys. `picture_files`: copies of the pictures of personas.
  `errors` are raised.

The names are loaded on first use, so that importing this package does not import SQLAlchemy,
Alembic and cryptography.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oshaberi.bot.storage.errors import StorageError

if TYPE_CHECKING:
    from oshaberi.bot.storage.database import Database
    from oshaberi.bot.storage.schema.migration import current_revision, head_revision, upgrade
    from oshaberi.bot.storage.secret_vault import SecretVault

__all__ = [
    "Database",
    "SecretVault",
    "StorageError",
    "current_revision",
    "head_revision",
    "upgrade",
]

_HOMES = {
    "Database": "database",
    "SecretVault": "secret_vault",
    "current_revision": "schema.migration",
    "head_revision": "schema.migration",
    "upgrade": "schema.migration",
}


if not TYPE_CHECKING:  # a type checker that sees it accepts every name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
