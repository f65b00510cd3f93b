"""The protocol of what turns ask of the database (`oshaberi.bot.storage.Database`).

It has only what turns use, so that they do not depend on how it is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

from oshaberi.bot.tools.definition import FactStore

if TYPE_CHECKING:
    from oshaberi.bot.storage.changes import ChangeFeed
    from oshaberi.bot.storage.errors import StorageError
    from oshaberi.bot.storage.records import (
        ConversationSummary,
        Exchange,
        KeyRecord,
        ModelRecord,
        PersonaRecord,
        StoredQuestion,
        StoredSurroundings,
        SurroundingsQuery,
        TurnRecord,
        TurnTraces,
        UsedRequest,
    )
    from oshaberi.bot.storage.usage import UsageLimit, UsedUp


class PersonaStore(Protocol):
    async def of(self, server_id: int) -> tuple[PersonaRecord, ...]: ...


class ModelStore(Protocol):
    async def chains(
        self, server_id: int, user_id: int = 0
    ) -> Mapping[int, tuple[ModelRecord, ...]]: ...


class KeyStore(Protocol):
    async def of(
        self, server_id: int, provider: str, user_id: int = 0
    ) -> tuple[KeyRecord, ...]: ...
    async def rest(self, key_id: int, until: datetime) -> None: ...


class SurroundingsReader(Protocol):
    async def surroundings(self, query: SurroundingsQuery) -> StoredSurroundings: ...


class MemoryStore(Protocol):
    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]: ...
    async def forget_at(self, channel_id: int, at: datetime) -> int: ...


class SummaryStore(Protocol):
    async def keep(self, summary: ConversationSummary, *, days: int) -> None: ...
    async def of(self, channel_id: int) -> ConversationSummary | None: ...


class UsageCountBook(Protocol):
    async def reserve(
        self, day: date, limits: Sequence[UsageLimit], input_tokens: int
    ) -> UsedUp | None: ...
    async def used_up(self, day: date, limits: Sequence[UsageLimit]) -> UsedUp | None: ...
    async def tell_once(self, day: date, quota: str, subject_id: int, channel_id: int) -> bool: ...


class SeenStore(Protocol):
    async def note(self, channel_id: int, message_id: int) -> None: ...


class QuestionStore(Protocol):
    async def keep(self, question: StoredQuestion) -> None: ...
    async def settle(self, channel_id: int, message_ids: Collection[int]) -> None: ...


class TurnBookStore(Protocol):
    async def of_message(self, message_id: int) -> TurnRecord | None: ...
    async def reasons(self, channel_id: int, message_id: int) -> tuple[str, ...]: ...
    async def last(self, channel_id: int) -> TurnRecord | None: ...
    async def whole(self, turn: TurnRecord) -> tuple[TurnRecord, ...]: ...
    async def take_back(self, turn: TurnRecord) -> None: ...
    async def set_messages(self, turn: TurnRecord) -> None: ...


class TurnStore(Protocol):
    """The repositories of a database, by name."""

    @property
    def changes(self) -> ChangeFeed: ...
    @property
    def reading(self) -> SurroundingsReader: ...
    @property
    def personas(self) -> PersonaStore: ...
    @property
    def models(self) -> ModelStore: ...
    @property
    def keys(self) -> KeyStore: ...
    @property
    def memory(self) -> MemoryStore: ...
    @property
    def summaries(self) -> SummaryStore: ...
    @property
    def facts(self) -> FactStore: ...
    @property
    def usage_counts(self) -> UsageCountBook: ...
    @property
    def seen(self) -> SeenStore: ...
    @property
    def questions(self) -> QuestionStore: ...
    @property
    def turns(self) -> TurnBookStore: ...

    async def keep_turn(self, traces: TurnTraces) -> Mapping[str, StorageError]:
        """Store all records of a turn at once. Return the errors by part."""

    def queue_turn(self, traces: TurnTraces) -> None:
        """Store the records soon, without waiting: for a turn that ends with its process."""

    async def count_usage(self, used: Sequence[UsedRequest]) -> None:
        """Count requests now. Raises StorageAwayError if they are counted later."""

    def queue_usage(self, used: Sequence[UsedRequest]) -> None:
        """Count requests soon."""
