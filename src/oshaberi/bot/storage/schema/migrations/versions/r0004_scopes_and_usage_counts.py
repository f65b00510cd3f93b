"""Whom models and keys serve, and how much users, channels and servers use each day.

Server 0 was both "direct messages" and "everybody". The existing rows were typed in direct
messages: they become `direct`, without an owner, and serve nobody until the bot's owner adopts
them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    _scope_models()
    _scope_keys()
    for table in ("models", "api_keys"):
        op.execute(f"UPDATE {table} SET scope = 'direct' WHERE owner_id = 0")
    _create_counts()


def _scope_models() -> None:
    with op.batch_alter_table("models") as models:
        models.drop_constraint("uq_models_server_id_position", type_="unique")
        models.alter_column("server_id", new_column_name="owner_id")
        models.add_column(_scope())
    with op.batch_alter_table("models") as models:
        models.create_unique_constraint(
            "uq_models_scope_owner_id_position", ["scope", "owner_id", "position"]
        )


def _scope_keys() -> None:
    """Add the scope without creating the table again: SQLite would reuse old ids."""
    op.drop_index("ix_api_keys_server_id_provider", "api_keys")
    op.execute("ALTER TABLE api_keys RENAME COLUMN server_id TO owner_id")
    op.add_column("api_keys", _scope())
    op.create_index(
        "ix_api_keys_scope_owner_id_provider", "api_keys", ["scope", "owner_id", "provider"]
    )


def _scope() -> sa.Column[str]:
    return sa.Column("scope", sa.Text(), nullable=False, server_default="server")


def _create_counts() -> None:
    op.create_table(
        "usage_counts",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("purse", sa.Text(), nullable=False),
        sa.Column("server_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_micros", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "day", "purse", "server_id", "subject", "subject_id", name="pk_usage_counts"
        ),
    )
    op.create_table(
        "quota_notices",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("quota", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("channel_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint(
            "day", "quota", "subject_id", "channel_id", name="pk_quota_notices"
        ),
    )
