"""Counts what the database is asked to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, event


@dataclass
class DatabaseCount:
    """A transaction ends with a commit, or (if it only read) with a rollback."""

    commits: int = 0
    rollbacks: int = 0
    statements: list[str] = field(default_factory=list)

    @property
    def transactions(self) -> int:
        return self.commits + self.rollbacks


@contextmanager
def counted() -> Iterator[DatabaseCount]:
    """Of all databases of this process."""
    count = DatabaseCount()

    def commit(_connection: Any) -> None:
        count.commits += 1

    def rollback(_connection: Any) -> None:
        count.rollbacks += 1

    def statement(_connection: Any, _cursor: Any, words: str, *_more: Any) -> None:
        if not words.startswith("BEGIN"):
            count.statements.append(words)

    listeners = (
        ("commit", commit),
        ("rollback", rollback),
        ("before_cursor_execute", statement),
    )
    for name, listener in listeners:
        event.listen(Engine, name, listener)
    try:
        yield count
    finally:
        for name, listener in listeners:
            event.remove(Engine, name, listener)
