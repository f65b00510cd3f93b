"""The errors that storage raises. Each message is one line."""

from __future__ import annotations

import errno

from oshaberi.errors import OshaberiError, TemporaryError

_SQLITE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR")
_SETTLED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENOENT}
"""Errors that last until somebody changes a path or a permission."""


class StorageError(OshaberiError):
    """The database or the vault cannot be used. The message says which, why and what to do."""


class StorageAwayError(StorageError, TemporaryError):
    """The database does not answer, or cannot work now. It may recover by itself."""


def storage_error(line: str, cause: BaseException) -> StorageError:
    """Return an error with this line. The kind depends on the cause (OSError or sqlite3)."""
    return StorageAwayError(line) if _passes(cause) else StorageError(line)


def _passes(cause: BaseException) -> bool:
    """Return whether the cause may disappear by itself."""
    if isinstance(cause, OSError):
        return cause.errno not in _SETTLED
    return str(getattr(cause, "sqlite_errorname", "")).startswith(_SQLITE)
