"""Which rows of each table are about a user, and which belong to a server.

`OWNERSHIP` lists every table; a test checks that. Its order is the order of deletion: some rows are
found through others, which must be deleted later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, Select, and_, or_, select, union

from oshaberi.bot.storage.schema.table_rows import (
    AnswerReactionRow,
    AnswerVersionRow,
    ApiKeyRow,
    Base,
    BirthdayRow,
    ChannelServerRow,
    ChannelSettingRow,
    ConversationSummaryRow,
    DepartedServerRow,
    ExchangeRow,
    FactRow,
    FreshStartRow,
    GreetingRow,
    InstanceRow,
    JournalPostRow,
    JournalStreamRow,
    LorebookRow,
    ModelRow,
    OpeningRow,
    OptOutRow,
    OwnFaceRow,
    OwnThreadRow,
    PersonaRow,
    PictureRow,
    QuestionRow,
    QuotaNotice,
    ScheduleRow,
    SeenMessageRow,
    ServerSettingRow,
    SpriteMessageRow,
    SpriteRow,
    TableSourceRow,
    TimeZoneRow,
    TurnMessageRow,
    TurnRow,
    UnapproachedRow,
    UsageCount,
    UsageRow,
)

Condition = Callable[[int], ColumnElement[bool]]
UNDER_WAY = timedelta(hours=1)
"""An answer that began later may still be running: its journal stays until it ends."""


@dataclass(frozen=True, slots=True)
class DataSubject:
    """The owner of data: a user, on all servers, or a server."""

    kind: Literal["user", "server"]
    id: int


@dataclass(frozen=True, slots=True)
class TableOwnership:
    """The owners of a table's rows. Without a condition, it has no rows of users, or of servers."""

    row: type[Base]
    of_user: Condition | None = None
    of_server: Condition | None = None
    secret: frozenset[str] = frozenset()
    """Columns that are never exported."""
    of_others: frozenset[str] = frozenset()
    """Columns that also contain other people's words. They are not in any user's export."""
    is_ended: Callable[[datetime], ColumnElement[bool]] | None = None
    """The rows that no running answer needs any more at that time; None means all rows."""
    is_count: bool = False
    """Quotas depend on these rows: a user who deleted today's could use a quota twice."""
    is_choice: bool = False
    """A choice of the user, valid until they change it: it is not deleted with the rest."""

    @property
    def name(self) -> str:
        return str(self.row.__tablename__)

    def hidden_from(self, subject: DataSubject) -> frozenset[str]:
        """Return the columns that are left out of this subject's export."""
        return self.secret | (self.of_others if subject.kind == "user" else frozenset())

    def rows_of(self, subject: DataSubject) -> ColumnElement[bool] | None:
        condition = self.of_user if subject.kind == "user" else self.of_server
        return None if condition is None else condition(subject.id)


def _turns_of(user_id: int) -> Select[int]:
    return select(TurnRow.id).where(TurnRow.user_id == user_id)


def _answers_to(user_id: int) -> Select[int]:
    """Return the ids of the messages that the bot wrote for this user."""
    return select(TurnMessageRow.message_id).where(TurnMessageRow.turn_id.in_(_turns_of(user_id)))


def _places_of(server_id: int) -> Select[int]:
    """Return the channels of a server in which the bot has ever answered."""
    noted = select(ChannelServerRow.channel_id).where(ChannelServerRow.server_id == server_id)
    used = select(TurnRow.channel_id).where(TurnRow.server_id == server_id)
    return select(union(noted, used).subquery().c.channel_id)


def _streams_of(condition: ColumnElement[bool]) -> Select[str]:
    return select(JournalStreamRow.key).where(condition)


def _personas_of(server_id: int) -> Select[int]:
    return select(PersonaRow.id).where(PersonaRow.server_id == server_id)


def _count_of_server(server_id: int) -> ColumnElement[bool]:
    """Return the condition for a server's usage counts.

    In the server's own budget these are all counts; in the operator's budget, those of the server
    and its channels.
    """
    inside = and_(UsageCount.budget_owner == "server", UsageCount.server_id == server_id)
    itself = and_(UsageCount.subject == "server", UsageCount.subject_id == server_id)
    channels = and_(
        UsageCount.subject == "channel", UsageCount.subject_id.in_(_places_of(server_id))
    )
    return or_(inside, itself, channels)


OWNERSHIP: tuple[TableOwnership, ...] = (
    TableOwnership(
        SpriteMessageRow,
        of_user=lambda user: SpriteMessageRow.message_id.in_(_answers_to(user)),
        of_server=lambda server: SpriteMessageRow.channel_id.in_(_places_of(server)),
    ),
    TableOwnership(
        TableSourceRow,
        of_user=lambda user: TableSourceRow.message_id.in_(_answers_to(user)),
        of_server=lambda server: TableSourceRow.channel_id.in_(_places_of(server)),
    ),
    TableOwnership(
        AnswerVersionRow,
        of_user=lambda user: AnswerVersionRow.user_id == user,
        of_server=lambda server: AnswerVersionRow.server_id == server,
    ),
    TableOwnership(
        AnswerReactionRow,
        of_user=lambda user: AnswerReactionRow.user_id == user,
        of_server=lambda server: AnswerReactionRow.server_id == server,
    ),
    TableOwnership(
        ExchangeRow,
        of_user=lambda user: ExchangeRow.user_id == user,
        of_server=lambda server: ExchangeRow.channel_id.in_(_places_of(server)),
    ),
    TableOwnership(
        ConversationSummaryRow,
        of_user=lambda user: ConversationSummaryRow.user_ids.contains(f",{user},"),
        of_server=lambda server: ConversationSummaryRow.channel_id.in_(_places_of(server)),
        of_others=frozenset({"text", "user_ids"}),
    ),
    TableOwnership(
        SeenMessageRow, of_server=lambda server: SeenMessageRow.channel_id.in_(_places_of(server))
    ),
    TableOwnership(
        QuotaNotice,
        of_user=lambda user: QuotaNotice.subject_id == user,
        of_server=lambda server: or_(
            QuotaNotice.subject_id == server, QuotaNotice.channel_id.in_(_places_of(server))
        ),
        is_count=True,
    ),
    TableOwnership(
        UsageCount,
        of_user=lambda user: and_(UsageCount.subject == "user", UsageCount.subject_id == user),
        of_server=_count_of_server,
        is_count=True,
    ),
    TableOwnership(
        JournalPostRow,
        of_user=lambda user: JournalPostRow.key.in_(_streams_of(JournalStreamRow.user_id == user)),
        of_server=lambda server: JournalPostRow.key.in_(
            _streams_of(JournalStreamRow.server_id == server)
        ),
        is_ended=lambda now: JournalPostRow.key.in_(
            _streams_of(JournalStreamRow.began < now - UNDER_WAY)
        ),
    ),
    TableOwnership(
        JournalStreamRow,
        of_user=lambda user: JournalStreamRow.user_id == user,
        of_server=lambda server: JournalStreamRow.server_id == server,
        is_ended=lambda now: JournalStreamRow.began < now - UNDER_WAY,
    ),
    TableOwnership(
        QuestionRow,
        of_user=lambda user: QuestionRow.user_id == user,
        of_server=lambda server: QuestionRow.server_id == server,
        is_ended=lambda now: QuestionRow.at < now - UNDER_WAY,
    ),
    TableOwnership(
        TurnMessageRow,
        of_user=lambda user: TurnMessageRow.turn_id.in_(_turns_of(user)),
        of_server=lambda server: TurnMessageRow.turn_id.in_(
            select(TurnRow.id).where(TurnRow.server_id == server)
        ),
    ),
    TableOwnership(
        TurnRow,
        of_user=lambda user: TurnRow.user_id == user,
        of_server=lambda server: TurnRow.server_id == server,
    ),
    TableOwnership(
        FactRow,
        of_user=lambda user: FactRow.user_id == user,
        of_server=lambda server: FactRow.server_id == server,
    ),
    TableOwnership(
        ScheduleRow,
        of_user=lambda user: ScheduleRow.user_id == user,
        of_server=lambda server: ScheduleRow.server_id == server,
    ),
    TableOwnership(TimeZoneRow, of_user=lambda user: TimeZoneRow.user_id == user),
    TableOwnership(
        BirthdayRow,
        of_user=lambda user: BirthdayRow.user_id == user,
        of_server=lambda server: BirthdayRow.server_id == server,
    ),
    TableOwnership(OpeningRow, of_server=lambda server: OpeningRow.server_id == server),
    TableOwnership(FreshStartRow, of_server=lambda server: FreshStartRow.server_id == server),
    TableOwnership(
        OwnThreadRow,
        of_user=lambda user: OwnThreadRow.user_id == user,
        of_server=lambda server: OwnThreadRow.server_id == server,
    ),
    TableOwnership(
        ModelRow,
        of_user=lambda user: and_(ModelRow.scope == "direct", ModelRow.owner_id == user),
        of_server=lambda server: and_(ModelRow.scope == "server", ModelRow.owner_id == server),
    ),
    TableOwnership(
        ApiKeyRow,
        of_user=lambda user: and_(ApiKeyRow.scope == "direct", ApiKeyRow.owner_id == user),
        of_server=lambda server: and_(ApiKeyRow.scope == "server", ApiKeyRow.owner_id == server),
        secret=frozenset({"token"}),
    ),
    TableOwnership(LorebookRow, of_server=lambda server: LorebookRow.server_id == server),
    TableOwnership(
        SpriteRow, of_server=lambda server: SpriteRow.persona_id.in_(_personas_of(server))
    ),
    TableOwnership(
        GreetingRow, of_server=lambda server: GreetingRow.persona_id.in_(_personas_of(server))
    ),
    TableOwnership(OwnFaceRow, of_server=lambda server: OwnFaceRow.server_id == server),
    TableOwnership(PictureRow, of_server=lambda server: PictureRow.server_id == server),
    TableOwnership(PersonaRow, of_server=lambda server: PersonaRow.server_id == server),
    TableOwnership(ServerSettingRow, of_server=lambda server: ServerSettingRow.server_id == server),
    TableOwnership(
        ChannelSettingRow, of_server=lambda server: ChannelSettingRow.server_id == server
    ),
    TableOwnership(UsageRow, of_server=lambda server: UsageRow.server_id == server),
    TableOwnership(ChannelServerRow, of_server=lambda server: ChannelServerRow.server_id == server),
    TableOwnership(
        DepartedServerRow, of_server=lambda server: DepartedServerRow.server_id == server
    ),
    TableOwnership(
        UnapproachedRow, of_user=lambda user: UnapproachedRow.user_id == user, is_choice=True
    ),
    TableOwnership(OptOutRow, of_user=lambda user: OptOutRow.user_id == user, is_choice=True),
    TableOwnership(InstanceRow),
)
