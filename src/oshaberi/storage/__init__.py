"""What outlives a process: servers, personas, models, keys, memories, the journal.

- `database` is the entry point: `repositories` and `personal_data` take and return `stored_records`
  and `usage_accounts` (`usage_day`); `stored_surroundings` reads what a turn needs. All are built
  on `transactions`.
- `schema`: the tables and their migrations. `writing`: groups the writes of turns (`write_entries`)
  into few transactions. `outages`: no caller waits for a database that does not answer, and writes
  are kept in memory meanwhile. `changes`: tells caches about changes.
- `database_urls`, `database_engine`, `sqlite_driver_threads`: connections. `sqlite_ownership`,
  `postgres_lease`: one process for each instance name. `sqlite_erasure`: deleted text leaves the
  files. `sqlite_backups`: made, restored, and deleted in time.
- `secret_vault` encrypts keys, `key_scope` says whose they are. `storage_errors` are raised.

The names are loaded on first use, so that importing this package does not import SQLAlchemy,
Alembic and cryptography.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oshaberi.storage.storage_errors import StorageError

if TYPE_CHECKING:
    from oshaberi.storage.database import Database
    from oshaberi.storage.schema.migration_runner import current_revision, head_revision, upgrade
    from oshaberi.storage.secret_vault import SecretVault

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
    "current_revision": "schema.migration_runner",
    "head_revision": "schema.migration_runner",
    "upgrade": "schema.migration_runner",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
