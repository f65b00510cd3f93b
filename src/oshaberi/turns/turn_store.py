"""What a turn asks of the bot's database; `oshaberi.storage.Database` answers it.

Only what turns use stands here, so that they know nothing of how it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from oshaberi.tools.tool_definition import FactStore

if TYPE_CHECKING:
    from oshaberi.storage.stored_records import (
        Exchange,
        KeyRecord,
        ModelRecord,
        PersonaRecord,
        TurnRecord,
    )


class PersonaStore(Protocol):
    async def of(self, server_id: int) -> tuple[PersonaRecord, ...]: ...


class ModelStore(Protocol):
    async def chain(self, server_id: int) -> tuple[ModelRecord, ...]: ...


class KeyStore(Protocol):
    async def of(self, server_id: int, provider: str) -> tuple[KeyRecord, ...]: ...
    async def rest(self, key_id: int, until: datetime) -> None: ...


class SpriteMessageStore(Protocol):
    async def remember(
        self, message_id: int, channel_id: int, persona: str, sprite: str
    ) -> None: ...
    async def labels(self, message_ids: Sequence[int]) -> Mapping[int, tuple[str, str]]: ...


class TableStore(Protocol):
    async def remember(self, message_id: int, channel_id: int, source: str) -> None: ...
    async def sources(self, message_ids: Sequence[int]) -> Mapping[int, str]: ...


class MemoryStore(Protocol):
    async def add(self, exchange: Exchange, *, keep: int, days: int) -> None: ...
    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]: ...
    async def forget_at(self, channel_id: int, at: datetime) -> int: ...


class UsageStore(Protocol):
    async def add(
        self, server_id: int, provider: str, model: str, input_tokens: int, output_tokens: int
    ) -> None: ...


class SeenStore(Protocol):
    async def note(self, channel_id: int, message_id: int) -> None: ...


class TurnBookStore(Protocol):
    async def remember(self, turn: TurnRecord) -> None: ...
    async def of_message(self, message_id: int) -> TurnRecord | None: ...
    async def last(self, channel_id: int) -> TurnRecord | None: ...
    async def whole(self, turn: TurnRecord) -> tuple[TurnRecord, ...]: ...
    async def take_back(self, turn: TurnRecord) -> None: ...


class TurnStore(Protocol):
    """The repositories of a database, by name."""

    @property
    def personas(self) -> PersonaStore: ...
    @property
    def models(self) -> ModelStore: ...
    @property
    def keys(self) -> KeyStore: ...
    @property
    def sprite_messages(self) -> SpriteMessageStore: ...
    @property
    def tables(self) -> TableStore: ...
    @property
    def memory(self) -> MemoryStore: ...
    @property
    def facts(self) -> FactStore: ...
    @property
    def usage(self) -> UsageStore: ...
    @property
    def seen(self) -> SeenStore: ...
    @property
    def turns(self) -> TurnBookStore: ...
