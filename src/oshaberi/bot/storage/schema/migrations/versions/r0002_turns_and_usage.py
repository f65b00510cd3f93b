"""Turns and the messages they made, tokens used, and who spoke in an exchange."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("exchanges", sa.Column("persona", sa.Text(), server_default="", nullable=False))
    _usage()
    _turns()


def _usage() -> None:
    op.create_table(
        "usage",
        sa.Column("server_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("server_id", "provider", "model", name="pk_usage"),
    )


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("asked_id", sa.BigInteger(), nullable=True),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("message_ids", sa.JSON(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("undelivered", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
    )
    op.create_index("ix_turns_channel_id_id", "turns", ["channel_id", "id"])
    op.create_index("ix_turns_at", "turns", ["at"])
    op.create_table(
        "turn_messages",
        sa.Column("message_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("message_id", name="pk_turn_messages"),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name="fk_turn_messages_turn_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_turn_messages_turn_id", "turn_messages", ["turn_id"])
