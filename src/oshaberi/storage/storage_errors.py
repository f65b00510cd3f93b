"""The error that storage raises, always with one line of text."""

from __future__ import annotations

from oshaberi.errors import OshaberiError


class StorageError(OshaberiError):
    """The database or the vault cannot be used. Says which, why and what to do."""
