"""Where conversations begin: afresh in a channel, or in a thread of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "fresh_starts",
        sa.Column("channel_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("after_id", sa.BigInteger(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("channel_id", name="pk_fresh_starts"),
    )
    op.create_index("ix_fresh_starts_server_id", "fresh_starts", ["server_id"])
    op.create_table(
        "own_threads",
        sa.Column("thread_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("is_named", sa.Boolean(), nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("source_after_id", sa.BigInteger(), nullable=False),
        sa.Column("source_last_id", sa.BigInteger(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", name="pk_own_threads"),
    )
    op.create_index("ix_own_threads_server_id_user_id", "own_threads", ["server_id", "user_id"])
    op.create_index("ix_own_threads_user_id", "own_threads", ["user_id"])
    op.create_index("ix_own_threads_source_id", "own_threads", ["source_id"])
