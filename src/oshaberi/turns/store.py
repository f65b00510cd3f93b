"""What a turn asks of the bot's database; `oshaberi.storage.Database` answers it.

Only what turns use stands here, so that they know nothing of how it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from oshaberi.tools.base import Facts

if TYPE_CHECKING:
    from oshaberi.storage.records import (
        Exchange,
        KeyRecord,
        ModelRecord,
        PersonaRecord,
        TurnRecord,
    )


class Personas(Protocol):
    async def of(self, server_id: int) -> tuple[PersonaRecord, ...]: ...


class Models(Protocol):
    async def chain(self, server_id: int) -> tuple[ModelRecord, ...]: ...


class Keys(Protocol):
    async def of(self, server_id: int, provider: str) -> tuple[KeyRecord, ...]: ...
    async def rest(self, key_id: int, until: datetime) -> None: ...


class SpriteMessages(Protocol):
    async def remember(
        self, message_id: int, channel_id: int, persona: str, sprite: str
    ) -> None: ...
    async def labels(self, message_ids: Sequence[int]) -> Mapping[int, tuple[str, str]]: ...


class Tables(Protocol):
    async def remember(self, message_id: int, channel_id: int, source: str) -> None: ...
    async def sources(self, message_ids: Sequence[int]) -> Mapping[int, str]: ...


class Memory(Protocol):
    async def add(self, exchange: Exchange, *, keep: int, days: int) -> None: ...
    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]: ...
    async def forget_at(self, channel_id: int, at: datetime) -> int: ...


class UsageBook(Protocol):
    async def add(
        self, server_id: int, provider: str, model: str, input_tokens: int, output_tokens: int
    ) -> None: ...


class Seen(Protocol):
    async def note(self, channel_id: int, message_id: int) -> None: ...


class TurnBook(Protocol):
    async def remember(self, turn: TurnRecord) -> None: ...
    async def of_message(self, message_id: int) -> TurnRecord | None: ...
    async def last(self, channel_id: int) -> TurnRecord | None: ...
    async def whole(self, turn: TurnRecord) -> tuple[TurnRecord, ...]: ...
    async def take_back(self, turn: TurnRecord) -> None: ...


class Store(Protocol):
    """The repositories of a database, by name."""

    @property
    def personas(self) -> Personas: ...
    @property
    def models(self) -> Models: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def sprite_messages(self) -> SpriteMessages: ...
    @property
    def tables(self) -> Tables: ...
    @property
    def memory(self) -> Memory: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def usage(self) -> UsageBook: ...
    @property
    def seen(self) -> Seen: ...
    @property
    def turns(self) -> TurnBook: ...
