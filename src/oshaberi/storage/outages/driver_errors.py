"""Turns driver errors into StorageError with one line, and tells whether the database is down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from oshaberi.storage.database_urls import DatabaseAddress
from oshaberi.storage.storage_errors import StorageAwayError, StorageError

_SQLITE_AWAY = ("locked", "busy", "disk i/o", "unable to open", "readonly", "is full")
_STATES_AWAY = ("08", "25006", "53", "55P03", "57P", "58")
"""Beginnings of PostgreSQL's error codes: no connection, read-only, no resources, a migration of
another process that takes long, shutdown."""


@contextmanager
def told(address: DatabaseAddress) -> Iterator[None]:
    """Raise driver errors as StorageError, or as StorageAwayError in an outage."""
    try:
        yield
    except (SQLAlchemyError, OverflowError) as error:
        kind = StorageAwayError if is_outage(error) else StorageError
        raise kind(f"the database {address} failed: {_reason(error)}") from error
    except OSError as error:
        reason = _first_line(error) or "no answer in time"
        raise StorageAwayError(f"the database {address} cannot be reached: {reason}") from error


def is_outage(error: Exception) -> bool:
    """Tell whether other statements would fail too, and this one may succeed later."""
    if isinstance(error, OSError | PoolTimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_STATES_AWAY)
    words = str(error.orig).lower()
    return type(error).__name__ == "OperationalError" and any(one in words for one in _SQLITE_AWAY)


def _reason(error: Exception) -> str:
    """Return the driver's own text. SQLAlchemy's contains the statement and a link."""
    return _first_line(error.orig if isinstance(error, DBAPIError) and error.orig else error)


def _first_line(error: BaseException) -> str:
    line = next(iter(str(error).splitlines()), "")
    return line.removeprefix("<class '").replace("'>: ", ": ", 1)
