"""The cards of personas, and lorebooks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("personas", sa.Column("card", sa.JSON(), nullable=True))
    row_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "lorebooks",
        sa.Column("id", row_id, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=True),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_lorebooks"),
        sa.ForeignKeyConstraint(
            ["persona_id"],
            ["personas.id"],
            name="fk_lorebooks_persona_id_personas",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint("server_id", "name_key", name="uq_lorebooks_server_id_name_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_lorebooks_persona_id", "lorebooks", ["persona_id"])
