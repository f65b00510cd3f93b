"""Why the questions of a turn were answered or not."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("turns", sa.Column("questions", sa.JSON(), nullable=False, server_default="{}"))
