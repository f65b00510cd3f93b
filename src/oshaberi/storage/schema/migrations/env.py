"""Alembic's entry point: uses the connection and transaction that `migration_runner` passes in."""

from __future__ import annotations

from alembic import context

from oshaberi.storage.schema.migration_runner import VERSION_TABLE
from oshaberi.storage.schema.table_rows import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    on_version_apply=context.config.attributes["note"],
    transactional_ddl=True,
)
context.run_migrations()
