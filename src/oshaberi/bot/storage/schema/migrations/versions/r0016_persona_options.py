"""Options of personas, whom they have greeted, and facts that one persona alone knows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("personas", sa.Column("options", sa.JSON(), nullable=True))
    op.add_column(
        "facts", sa.Column("persona_id", sa.BigInteger(), nullable=False, server_default="0")
    )
    op.create_table(
        "greetings",
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("channel_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("question_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("persona_id", "channel_id", name="pk_greetings"),
        sa.ForeignKeyConstraint(
            ["persona_id"],
            ["personas.id"],
            name="fk_greetings_persona_id_personas",
            ondelete="CASCADE",
        ),
    )
