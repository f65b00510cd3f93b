"""Reminders and tasks, and what personas need to speak first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    row_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "schedules",
        sa.Column("id", row_id, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("rule", sa.JSON(), nullable=True),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("next_at", moment, nullable=True),
        sa.Column("is_paused", sa.Boolean(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_schedules_server_id_user_id", "schedules", ["server_id", "user_id"])
    op.create_index("ix_schedules_user_id", "schedules", ["user_id"])
    op.create_index("ix_schedules_next_at", "schedules", ["next_at"])
    op.create_table(
        "time_zones",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_time_zones"),
    )
    op.create_table(
        "birthdays",
        sa.Column("server_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("month", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("greeted_year", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("server_id", "user_id", name="pk_birthdays"),
    )
    op.create_index("ix_birthdays_user_id", "birthdays", ["user_id"])
    op.create_table(
        "openings",
        sa.Column("channel_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("after_id", sa.BigInteger(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("channel_id", name="pk_openings"),
    )
    op.create_index("ix_openings_server_id", "openings", ["server_id"])
    op.create_table(
        "unapproached",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_unapproached"),
    )
