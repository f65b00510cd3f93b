"""How many tokens providers read from their caches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    for table in ("usage", "usage_counts"):
        # During a rolling upgrade older processes still write rows without it.
        column = sa.Column("cached_tokens", sa.BigInteger(), nullable=False, server_default="0")
        op.add_column(table, column)
