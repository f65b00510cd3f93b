"""The entries to write, as values, and the order of their statements."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Executable

Heard = Callable[[], None]
MOST_IN_ONE_STATEMENT = 8
"""Each combination of steps is prepared once on a connection: there should be few."""


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One statement with its values. Equal statements are the same object."""

    statement: Executable
    values: Mapping[str, Any]
    row: tuple[object, ...] | None = None
    """The one row that it inserts, changes or deletes; None if it is not known or not one."""


@dataclass(slots=True, eq=False)
class WriteEntry:
    """Steps that are written together or not at all.

    Entries of one `lane` keep their order; lanes are independent of each other. `tallies` only
    count up, so their order does not matter: they run last and sorted, so that two processes never
    wait for each other's rows. `repeatable`: writing it twice has the same effect as writing it
    once.
    """

    steps: tuple[WriteStep, ...] = ()
    tallies: tuple[WriteStep, ...] = ()
    lane: str = ""
    repeatable: bool = False
    done: asyncio.Future[None] | None = None
    """The future of the caller that waits for the entry; None if nobody waits."""

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to write: the caller waits for what is in front of it."""
        return not (self.steps or self.tallies)

    @property
    def size(self) -> int:
        """Return roughly how many characters the entry holds."""
        return sum(_size(step.values) for step in (*self.steps, *self.tallies))

    def fail(self, error: Exception) -> None:
        """Raise the error in the caller that waits for the entry, if there is one."""
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)


def turns_lane(channel_id: int) -> str:
    """Return the lane for the records of a channel's turns."""
    return f"turns {channel_id}"


@dataclass(slots=True)
class StatementRun:
    """One statement with the values of several steps."""

    statement: Executable
    values: list[Mapping[str, Any]] = field(default_factory=list)
    lanes: set[str] = field(default_factory=set)


def statement_runs(entries: Iterable[WriteEntry]) -> list[StatementRun]:
    """Return the statements of all entries; equal ones are joined where the lanes allow it."""
    entries = list(entries)
    runs: list[StatementRun] = []
    for entry in entries:
        for step in entry.steps:
            _place(runs, step, entry.lane)
    return runs + _tally_runs([step for entry in entries for step in entry.tallies])


def execute_entries(connection: Connection, entries: Sequence[WriteEntry], heard: Heard) -> None:
    """Execute within the connection's transaction. `heard` is called after each statement."""
    for run in statement_runs(entries):
        connection.execute(run.statement, run.values if len(run.values) > 1 else run.values[0])
        heard()


def single_statement_steps(entries: Sequence[WriteEntry]) -> list[WriteStep] | None:
    """Return the steps if one statement can write them all, in an order by kind; else None.

    The parts of a statement do not see what the others change, so each must have a row of its own.
    If the connection is lost, nobody knows whether it was written: it must be repeatable.
    """
    steps = [step for entry in entries for step in entry.steps]
    if len(steps) > MOST_IN_ONE_STATEMENT or any(entry.tallies for entry in entries):
        return None
    if not all(entry.repeatable for entry in entries):
        return None
    rows = [step.row for step in steps]
    if None in rows or len(set(rows)) < len(rows):
        return None
    return sorted(steps, key=lambda step: id(step.statement))


def _place(runs: list[StatementRun], step: WriteStep, lane: str) -> None:
    """Add a step to the last run of its statement, unless its lane has a later run."""
    for run in reversed(runs):
        if run.statement is step.statement:
            run.values.append(step.values)
            run.lanes.add(lane)
            return
        if lane in run.lanes:
            break
    runs.append(StatementRun(step.statement, [step.values], {lane}))


def _tally_runs(tallies: Sequence[WriteStep]) -> list[StatementRun]:
    runs: dict[int, StatementRun] = {}
    for step in tallies:
        run = runs.setdefault(id(step.statement), StatementRun(step.statement))
        run.values.append(step.values)
    for run in runs.values():
        run.values.sort(key=lambda values: tuple(values.values()))
    return list(runs.values())


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(one) for one in value.values())
    if isinstance(value, list | tuple):
        return sum(_size(one) for one in value)
    return 8
