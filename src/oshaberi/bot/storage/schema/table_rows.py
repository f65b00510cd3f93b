"""The tables as they are now. A test compares them with the result of the migrations."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

# Column types that mean the same on SQLite and PostgreSQL.


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

RowId = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows automatically only in an INTEGER column, which has 64 bits there."""


class UtcMoment(TypeDecorator[datetime]):
    """A time in UTC. SQLite drops the zone, so it is added on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        aware: datetime = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC)


class StorableText(TypeDecorator[str]):
    """Any text. Characters that a database cannot hold (NUL, lone surrogates) become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)


NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar = {str: StorableText, int: BigInteger, datetime: UtcMoment}


class ServerSettingRow(Base):
    __tablename__ = "server_settings"

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class ChannelSettingRow(Base):
    """A setting of one channel, thread or category."""

    __tablename__ = "channel_settings"

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class PersonaRow(Base):
    """A persona. `name_key` is the name in case-folded form."""

    __tablename__ = "personas"
    __table_args__ = (UniqueConstraint("server_id", "name_key"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    server_id: Mapped[int]
    name: Mapped[str]
    name_key: Mapped[str]
    prompt: Mapped[str]
    aliases: Mapped[list[str]] = mapped_column(JSON)
    triggers: Mapped[list[str]] = mapped_column(JSON)
    avatar_url: Mapped[str | None]
    samples: Mapped[list[list[str]]] = mapped_column(JSON)
    is_default: Mapped[bool]
    is_age_restricted: Mapped[bool] = mapped_column(server_default=false())
    card: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    options: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    sprites: Mapped[list[SpriteRow]] = relationship(
        order_by="SpriteRow.id", lazy="selectin", cascade="all, delete-orphan", passive_deletes=True
    )


class SpriteRow(Base):
    __tablename__ = "sprites"
    __table_args__ = (UniqueConstraint("persona_id", "name_key"),)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    persona_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("personas.id", ondelete="CASCADE")
    )
    name: Mapped[str]
    name_key: Mapped[str]
    avatar_url: Mapped[str | None]
    is_identity: Mapped[bool]


class GreetingRow(Base):
    """A persona has greeted a channel, at this question."""

    __tablename__ = "greetings"

    persona_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("personas.id", ondelete="CASCADE"), primary_key=True
    )
    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    question_id: Mapped[int]


class LorebookRow(Base):
    """A lorebook: of a persona, of a channel (`channel_id` 0: all), or of the whole server."""

    __tablename__ = "lorebooks"
    __table_args__ = (UniqueConstraint("server_id", "name_key"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    server_id: Mapped[int]
    persona_id: Mapped[int | None] = mapped_column(
        BigInteger, ForeignKey("personas.id", ondelete="CASCADE"), index=True
    )
    channel_id: Mapped[int]
    name: Mapped[str]
    name_key: Mapped[str]
    is_enabled: Mapped[bool]
    content: Mapped[dict[str, Any]] = mapped_column(JSON)


class PictureRow(Base):
    """A picture of a persona. `address` is what the persona names, `url` is where it is kept.

    `url` is empty if nothing could be loaded from the address.
    """

    __tablename__ = "pictures"
    __table_args__ = (Index(None, "url"),)

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    address: Mapped[str] = mapped_column(primary_key=True)
    url: Mapped[str]
    digest: Mapped[str]
    content_type: Mapped[str]
    channel_id: Mapped[int]
    message_id: Mapped[int]
    needs_signature: Mapped[bool]
    told_at: Mapped[datetime | None]


class OwnFaceRow(Base):
    """How the bot looks in a server. `applied` is what was last set, by field of the profile."""

    __tablename__ = "own_faces"

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    is_shown: Mapped[bool]
    bio: Mapped[str]
    banner: Mapped[str]
    applied: Mapped[dict[str, Any]] = mapped_column(JSON)


class SpriteMessageRow(Base):
    __tablename__ = "sprite_messages"
    __table_args__ = (Index(None, "channel_id", "message_id"),)

    message_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    channel_id: Mapped[int]
    persona: Mapped[str]
    sprite: Mapped[str]
    at: Mapped[datetime] = mapped_column(index=True)


class TableSourceRow(Base):
    __tablename__ = "table_sources"
    __table_args__ = (Index(None, "channel_id", "message_id"),)

    message_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    channel_id: Mapped[int]
    source: Mapped[str]
    at: Mapped[datetime] = mapped_column(index=True)


class ModelRow(Base):
    """A model of a chain. `scope` and `owner_id`: see `KeyScope`.

    `channel_id` is the channel, thread or category that has the chain; 0 means the whole scope.
    """

    __tablename__ = "models"
    __table_args__ = (UniqueConstraint("scope", "owner_id", "channel_id", "position"),)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    scope: Mapped[str] = mapped_column(server_default="server")
    owner_id: Mapped[int]
    channel_id: Mapped[int] = mapped_column(server_default="0")
    position: Mapped[int]
    provider: Mapped[str]
    model: Mapped[str]
    base_url: Mapped[str | None]
    params: Mapped[dict[str, Any]] = mapped_column(JSON)


class ApiKeyRow(Base):
    """An API key. `token` is the encrypted secret; `scope` and `owner_id`: see `KeyScope`."""

    __tablename__ = "api_keys"
    __table_args__ = (
        Index(None, "scope", "owner_id", "provider"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    scope: Mapped[str] = mapped_column(server_default="server")
    owner_id: Mapped[int]
    provider: Mapped[str]
    token: Mapped[str]
    label: Mapped[str]
    rest_until: Mapped[datetime | None]


class ExchangeRow(Base):
    __tablename__ = "exchanges"
    __table_args__ = (Index(None, "channel_id", "id"),)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    channel_id: Mapped[int]
    user_id: Mapped[int] = mapped_column(index=True)
    asked: Mapped[str]
    answered: Mapped[str]
    details: Mapped[str]
    persona: Mapped[str] = mapped_column(server_default="")
    at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class ConversationSummaryRow(Base):
    """A channel's summary from `first_id` to `last_id`; `user_ids` is like `,1,22,`."""

    __tablename__ = "conversation_summaries"

    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str]
    first_id: Mapped[int]
    last_id: Mapped[int]
    messages: Mapped[int]
    user_ids: Mapped[str]
    at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class FactRow(Base):
    __tablename__ = "facts"
    __table_args__ = (Index(None, "server_id", "user_id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    server_id: Mapped[int]
    user_id: Mapped[int | None]
    text: Mapped[str]
    at: Mapped[datetime]
    persona_id: Mapped[int] = mapped_column(server_default="0")
    """The only persona that knows it; 0 means all personas of the server."""


class SeenMessageRow(Base):
    __tablename__ = "seen_messages"

    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    message_id: Mapped[int]


class JournalStreamRow(Base):
    __tablename__ = "journal_streams"

    key: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str] = mapped_column(index=True)
    server_id: Mapped[int]
    channel_id: Mapped[int]
    user_id: Mapped[int]
    answering_id: Mapped[int | None]
    persona: Mapped[str]
    began: Mapped[datetime] = mapped_column(index=True)


class JournalPostRow(Base):
    __tablename__ = "journal_posts"

    key: Mapped[str] = mapped_column(
        ForeignKey("journal_streams.key", ondelete="CASCADE"), primary_key=True
    )
    nonce: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int]
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    newest_id: Mapped[int]
    state: Mapped[str]
    message_id: Mapped[int | None]


class QuestionRow(Base):
    """An open question. `process` answers it; `is_begun`: a restart interrupted its answer."""

    __tablename__ = "questions"

    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    message_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    server_id: Mapped[int]
    user_id: Mapped[int]
    instance: Mapped[str] = mapped_column(index=True)
    process: Mapped[str]
    why: Mapped[str]
    is_begun: Mapped[bool]
    at: Mapped[datetime]


class InstanceRow(Base):
    """A process that writes into the journal, and when it was last known to be running.

    `leases` are the kinds of leases that it holds, as words (`redis postgresql`).
    """

    __tablename__ = "instances"

    name: Mapped[str] = mapped_column(primary_key=True)
    alive_at: Mapped[datetime]
    leases: Mapped[str] = mapped_column(server_default="")


class UsageRow(Base):
    __tablename__ = "usage"

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    provider: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    requests: Mapped[int]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    cached_tokens: Mapped[int] = mapped_column(server_default="0")


class UsageCount(Base):
    """What one user, channel or server used on one day (UTC).

    `budget_owner` says whose limits the count is for: `operator` counts requests with the
    operator's keys (`server_id` is 0 then), `server` counts all requests in that server. Its column
    has an older name, because during a rolling upgrade older processes still write to it.
    """

    __tablename__ = "usage_counts"

    day: Mapped[date] = mapped_column(primary_key=True)
    budget_owner: Mapped[str] = mapped_column("purse", primary_key=True)
    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    subject: Mapped[str] = mapped_column(primary_key=True)
    subject_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    requests: Mapped[int]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    cached_tokens: Mapped[int] = mapped_column(server_default="0")
    """The part of the input that providers read from their caches."""
    cost_micros: Mapped[int]
    """In millionths of a dollar, at the prices of that day."""


class QuotaNotice(Base):
    """A notice that was sent on that day about a used-up quota."""

    __tablename__ = "quota_notices"

    day: Mapped[date] = mapped_column(primary_key=True)
    quota: Mapped[str] = mapped_column(primary_key=True)
    subject_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class TurnRow(Base):
    __tablename__ = "turns"
    __table_args__ = (Index(None, "channel_id", "id"),)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    channel_id: Mapped[int]
    server_id: Mapped[int]
    user_id: Mapped[int]
    asked_id: Mapped[int | None]
    persona: Mapped[str]
    message_ids: Mapped[list[int]] = mapped_column(JSON)
    status: Mapped[str]
    undelivered: Mapped[str]
    why: Mapped[str]
    at: Mapped[datetime] = mapped_column(index=True)
    answer_id: Mapped[int | None]
    questions: Mapped[dict[str, str]] = mapped_column(JSON, server_default="{}")
    """Why each of its questions was answered or not, by message id."""


class TurnMessageRow(Base):
    """Links a message of the bot to its turn."""

    __tablename__ = "turn_messages"

    message_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    turn_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("turns.id", ondelete="CASCADE"), index=True
    )


class AnswerVersionRow(Base):
    """One version of an answer. All have the channel, the question and the persona in common.

    `is_shown`: it stands in the channel instead of the newest one. `is_applied` is false while the
    messages in the channel are being changed to it.
    """

    __tablename__ = "answer_versions"
    __table_args__ = (
        UniqueConstraint("channel_id", "asked_id", "persona", "number"),
        Index(None, "channel_id", "id"),
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    channel_id: Mapped[int]
    server_id: Mapped[int]
    user_id: Mapped[int] = mapped_column(index=True)
    asked_id: Mapped[int]
    persona: Mapped[str]
    number: Mapped[int] = mapped_column(Integer)
    texts: Mapped[list[str]] = mapped_column(JSON)
    """The texts of its messages."""
    answered: Mapped[str]
    """What short-term memory has of it."""
    details: Mapped[str]
    undelivered: Mapped[str]
    is_shown: Mapped[bool]
    is_applied: Mapped[bool]
    at: Mapped[datetime] = mapped_column(index=True)


class AnswerReactionRow(Base):
    """A user's reaction to a message of the bot. `verdict`: 1 good, -1 bad, 0 neither."""

    __tablename__ = "answer_reactions"
    __table_args__ = (Index(None, "channel_id", "message_id"), Index(None, "server_id", "at"))

    message_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, index=True)
    emoji: Mapped[str] = mapped_column(primary_key=True)
    channel_id: Mapped[int]
    server_id: Mapped[int]
    verdict: Mapped[int] = mapped_column(Integer)
    at: Mapped[datetime] = mapped_column(index=True)


class ScheduleRow(Base):
    """A reminder or task. `next_at` is when it is due; None if it has no further time.

    `rule` is the rule of a recurring one, `zone` the time zone that it counts by. `problem` says
    why the bot paused it.
    """

    __tablename__ = "schedules"
    __table_args__ = (Index(None, "server_id", "user_id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    server_id: Mapped[int]
    channel_id: Mapped[int]
    user_id: Mapped[int] = mapped_column(index=True)
    persona: Mapped[str]
    kind: Mapped[str]
    text: Mapped[str]
    rule: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    zone: Mapped[str]
    next_at: Mapped[datetime | None] = mapped_column(index=True)
    is_paused: Mapped[bool]
    problem: Mapped[str]
    at: Mapped[datetime]


class TimeZoneRow(Base):
    """The time zone of a user."""

    __tablename__ = "time_zones"

    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]


class BirthdayRow(Base):
    """A birthday that a user told a server. `greeted_year` is the last one it was noticed in."""

    __tablename__ = "birthdays"

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, index=True)
    month: Mapped[int]
    day: Mapped[int]
    greeted_year: Mapped[int]


class OpeningRow(Base):
    """The last time a persona spoke first in a channel, and the newest message of a person then.

    It does not speak first again before a person has written something newer.
    """

    __tablename__ = "openings"

    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    server_id: Mapped[int] = mapped_column(index=True)
    after_id: Mapped[int]
    at: Mapped[datetime]


class UnapproachedRow(Base):
    """A user whom no persona may address first."""

    __tablename__ = "unapproached"

    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]


class FreshStartRow(Base):
    """Where a channel's conversation was restarted: nothing up to `after_id` is read there."""

    __tablename__ = "fresh_starts"

    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    server_id: Mapped[int] = mapped_column(index=True)
    after_id: Mapped[int]
    at: Mapped[datetime]


class OwnThreadRow(Base):
    """A thread that the bot opened for a user's conversation, with the name that it gave it.

    If `source_id` is not 0, the conversation begins in that channel: with the messages after
    `source_after_id`, up to `source_last_id`.
    """

    __tablename__ = "own_threads"
    __table_args__ = (Index(None, "server_id", "user_id"),)

    thread_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    server_id: Mapped[int]
    user_id: Mapped[int] = mapped_column(index=True)
    name: Mapped[str]
    is_named: Mapped[bool]
    source_id: Mapped[int] = mapped_column(index=True)
    source_after_id: Mapped[int]
    source_last_id: Mapped[int]
    at: Mapped[datetime]


class OptOutRow(Base):
    """A user whose messages the bot does not read."""

    __tablename__ = "opt_outs"

    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]


class DepartedServerRow(Base):
    """A server that the bot has left. Its data is deleted after a grace time."""

    __tablename__ = "departed_servers"

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    left_at: Mapped[datetime]


class ChannelServerRow(Base):
    """The server of a channel in which the bot answered."""

    __tablename__ = "channel_servers"

    channel_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    server_id: Mapped[int] = mapped_column(index=True)
