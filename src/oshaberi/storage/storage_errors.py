"""How storage fails: always with this, in one line."""

from __future__ import annotations

from oshaberi.errors import OshaberiError


class StorageError(OshaberiError):
    """The database or the vault cannot be used. Says which, why and what to do."""
