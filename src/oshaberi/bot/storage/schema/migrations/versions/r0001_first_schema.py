"""Settings, personas, models, keys, memories, the journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    _settings()
    _personas()
    _messages()
    _models()
    _memories()
    _journal()


def _settings() -> None:
    op.create_table(
        "server_settings",
        sa.Column("server_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("server_id", "key", name="pk_server_settings"),
    )


def _personas() -> None:
    op.create_table(
        "personas",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("aliases", sa.JSON(), nullable=False),
        sa.Column("triggers", sa.JSON(), nullable=False),
        sa.Column("avatar_url", sa.Text(), nullable=True),
        sa.Column("samples", sa.JSON(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_personas"),
        sa.UniqueConstraint("server_id", "name_key", name="uq_personas_server_id_name_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sprites",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("avatar_url", sa.Text(), nullable=True),
        sa.Column("is_identity", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sprites"),
        sa.ForeignKeyConstraint(
            ["persona_id"], ["personas.id"], name="fk_sprites_persona_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("persona_id", "name_key", name="uq_sprites_persona_id_name_key"),
    )


def _messages() -> None:
    _message_table("sprite_messages", "persona", "sprite")
    _message_table("table_sources", "source")
    op.create_table(
        "seen_messages",
        sa.Column("channel_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("message_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel_id", name="pk_seen_messages"),
    )


def _message_table(name: str, *texts: str) -> None:
    """Create a table with facts about our messages."""
    op.create_table(
        name,
        sa.Column("message_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        *(sa.Column(text, sa.Text(), nullable=False) for text in texts),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("message_id", name=f"pk_{name}"),
    )
    op.create_index(f"ix_{name}_channel_id_message_id", name, ["channel_id", "message_id"])
    op.create_index(f"ix_{name}_at", name, ["at"])


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=True),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sa.UniqueConstraint("server_id", "position", name="uq_models_server_id_position"),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("rest_until", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_api_keys_server_id_provider", "api_keys", ["server_id", "provider"])


def _memories() -> None:
    op.create_table(
        "exchanges",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("answered", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_exchanges"),
    )
    op.create_index("ix_exchanges_channel_id_id", "exchanges", ["channel_id", "id"])
    op.create_index("ix_exchanges_user_id", "exchanges", ["user_id"])
    op.create_index("ix_exchanges_expires_at", "exchanges", ["expires_at"])
    op.create_table(
        "facts",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_facts"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_facts_server_id_user_id", "facts", ["server_id", "user_id"])


def _journal() -> None:
    op.create_table(
        "journal_streams",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("answering_id", sa.BigInteger(), nullable=True),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("began", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_journal_streams"),
    )
    op.create_index("ix_journal_streams_instance", "journal_streams", ["instance"])
    op.create_index("ix_journal_streams_began", "journal_streams", ["began"])
    op.create_table(
        "journal_posts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("newest_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("message_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", "nonce", name="pk_journal_posts"),
        sa.ForeignKeyConstraint(
            ["key"], ["journal_streams.key"], name="fk_journal_posts_key", ondelete="CASCADE"
        ),
    )
