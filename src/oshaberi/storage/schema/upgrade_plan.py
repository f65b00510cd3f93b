"""Tells what an upgrade of a database would do. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from alembic.script import ScriptDirectory

from oshaberi.storage.database_urls import address_of
from oshaberi.storage.schema.migration_runner import (
    alembic_config,
    current_revision,
    newer_schema,
)


@dataclass(frozen=True, slots=True)
class PendingMigration:
    """One step: its revision, and its purpose in one line."""

    revision: str
    what: str


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """The steps of an upgrade. `current` is None for a database that does not exist yet."""

    current: str | None
    pending: tuple[PendingMigration, ...]
    copied_file: Path | None
    """The SQLite file that would be backed up first."""


async def plan_upgrade(url: str) -> UpgradePlan:
    """Return the plan. Raises StorageError if the database is newer than this program."""
    address = address_of(url)
    current = await current_revision(url)
    scripts = ScriptDirectory.from_config(alembic_config())
    steps = list(reversed(list(scripts.walk_revisions())))
    known = [step.revision for step in steps]
    if current is not None and current not in known:
        raise newer_schema(address, current)
    done = 0 if current is None else known.index(current) + 1
    pending = tuple(
        PendingMigration(step.revision, " ".join((step.doc or "").split("\n\n")[0].split()))
        for step in steps[done:]
    )
    return UpgradePlan(current, pending, address.file if pending and current else None)
