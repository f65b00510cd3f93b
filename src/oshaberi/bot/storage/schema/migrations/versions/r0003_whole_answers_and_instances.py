"""Which answer a turn continues, and which processes are alive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("turns", sa.Column("answer_id", sa.BigInteger(), nullable=True))
    op.create_table(
        "instances",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("alive_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_instances"),
    )
