"""The pictures of personas that the bot keeps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "pictures",
        sa.Column("server_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.BigInteger(), nullable=False),
        sa.Column("needs_signature", sa.Boolean(), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("server_id", "address", name="pk_pictures"),
    )
    op.create_index("ix_pictures_url", "pictures", ["url"])
