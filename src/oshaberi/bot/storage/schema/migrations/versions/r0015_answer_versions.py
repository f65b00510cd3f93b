"""The versions of an answer, and how people reacted to answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    row_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "answer_versions",
        sa.Column("id", row_id, nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("asked_id", sa.BigInteger(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("texts", sa.JSON(), nullable=False),
        sa.Column("answered", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("undelivered", sa.Text(), nullable=False),
        sa.Column("is_shown", sa.Boolean(), nullable=False),
        sa.Column("is_applied", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_answer_versions"),
        sa.UniqueConstraint(
            "channel_id",
            "asked_id",
            "persona",
            "number",
            name="uq_answer_versions_channel_id_asked_id_persona_number",
        ),
    )
    op.create_index("ix_answer_versions_channel_id_id", "answer_versions", ["channel_id", "id"])
    op.create_index("ix_answer_versions_user_id", "answer_versions", ["user_id"])
    op.create_index("ix_answer_versions_at", "answer_versions", ["at"])
    op.create_table(
        "answer_reactions",
        sa.Column("message_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("emoji", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("message_id", "user_id", "emoji", name="pk_answer_reactions"),
    )
    op.create_index(
        "ix_answer_reactions_channel_id_message_id",
        "answer_reactions",
        ["channel_id", "message_id"],
    )
    op.create_index("ix_answer_reactions_server_id_at", "answer_reactions", ["server_id", "at"])
    op.create_index("ix_answer_reactions_user_id", "answer_reactions", ["user_id"])
    op.create_index("ix_answer_reactions_at", "answer_reactions", ["at"])
