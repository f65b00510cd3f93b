"""What outlives a process: servers, personas, models, keys, memories, the journal.

- `database` is the way in: `repositories` and `personal_data` take and return `stored_records` and
  `usage_accounts` (`usage_day`); `stored_surroundings` reads what a turn needs. All are built on
  `transactions`.
- `schema`: the tables and their migrations. `writing`: turns' writes (`write_entries`) share
  transactions. `outages`: nobody waits for a database that is away, and what is to be written is
  kept. `changes`: who hears of a change.
- `database_urls`, `database_engine`, `sqlite_driver_threads`: connections. `sqlite_ownership`,
  `postgres_lease`: one process for each instance name.
- `secret_vault` encrypts keys, `key_scope` says whose they are. `storage_errors` are raised.

The names come late: SQLAlchemy, Alembic and cryptography are imported by who uses them first.
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
