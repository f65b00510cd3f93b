"""Alembic's entry point: uses the connection and transaction that `migration` passes in."""

from __future__ import annotations

from alembic import context

from oshaberi.bot.storage.schema.migration import VERSION_TABLE
from oshaberi.bot.storage.schema.table_rows import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    on_version_apply=context.config.attributes["note"],
    transactional_ddl=True,
)
context.run_migrations()
