"""How the bot looks in each server."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "own_faces",
        sa.Column("server_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("is_shown", sa.Boolean(), nullable=False),
        sa.Column("bio", sa.Text(), nullable=False),
        sa.Column("banner", sa.Text(), nullable=False),
        sa.Column("applied", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("server_id", name="pk_own_faces"),
    )
