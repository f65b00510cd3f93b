"""Who opted out, which servers the bot has left, and to which server a channel belongs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "opt_outs",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_opt_outs"),
    )
    op.create_table(
        "departed_servers",
        sa.Column("server_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("left_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("server_id", name="pk_departed_servers"),
    )
    op.create_table(
        "channel_servers",
        sa.Column("channel_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel_id", name="pk_channel_servers"),
    )
    op.create_index("ix_channel_servers_server_id", "channel_servers", ["server_id"])
