"""Settings and models of single channels, and personas for age-restricted channels only."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "channel_settings",
        sa.Column("server_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("channel_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("server_id", "channel_id", "key", name="pk_channel_settings"),
    )
    with op.batch_alter_table("models") as models:
        models.drop_constraint("uq_models_scope_owner_id_position", type_="unique")
        models.add_column(
            sa.Column("channel_id", sa.BigInteger(), nullable=False, server_default="0")
        )
    with op.batch_alter_table("models") as models:
        models.create_unique_constraint(
            "uq_models_scope_owner_id_channel_id_position",
            ["scope", "owner_id", "channel_id", "position"],
        )
    op.add_column(
        "personas",
        sa.Column("is_age_restricted", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
