"""Counts what SQLAlchemy sends to the database, by the events of all its engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StatementCounts:
    """`BEGIN`, `COMMIT` and `ROLLBACK` are no statements: they show as transactions."""

    statements: int = 0
    transactions: int = 0
    commits: int = 0


class StatementCounter:
    """Counts from `listen` on. With `keep`, the texts are kept too, in order."""

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = keep
        self.reset()

    def reset(self) -> None:
        self._statements = self._transactions = self._commits = 0
        self.texts: list[str] = []

    @property
    def counts(self) -> StatementCounts:
        return StatementCounts(self._statements, self._transactions, self._commits)

    def listen(self) -> None:
        from sqlalchemy import event
        from sqlalchemy.engine import Engine  # not in the bare bot, which has a probe too

        for name, listener in self._listeners:
            event.listen(Engine, name, listener)

    def ignore(self) -> None:
        """From now on nothing is counted."""
        from sqlalchemy import event
        from sqlalchemy.engine import Engine

        for name, listener in self._listeners:
            event.remove(Engine, name, listener)

    @property
    def _listeners(self) -> tuple[tuple[str, Callable[..., None]], ...]:
        return (
            ("before_cursor_execute", self._on_execute),
            ("begin", self._on_begin),
            ("commit", self._on_commit),
            ("rollback", self._on_rollback),
        )

    def _on_execute(
        self,
        _connection: object,
        _cursor: object,
        statement: str,
        parameters: Any,
        _context: object,
        executemany: bool,
    ) -> None:
        if statement.startswith("BEGIN"):
            self._note(statement)
            return
        self._statements += 1
        rows = f" -- {len(parameters)} rows" if executemany else ""
        self._note(" ".join(statement.split()) + rows)

    def _on_begin(self, _connection: object) -> None:
        self._transactions += 1
        self._note("(transaction)")

    def _on_commit(self, _connection: object) -> None:
        self._commits += 1
        self._note("COMMIT")

    def _on_rollback(self, _connection: object) -> None:
        self._note("ROLLBACK")

    def _note(self, text: str) -> None:
        if self._keep:
            self.texts.append(text)
