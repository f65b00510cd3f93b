"""What all turns of a process share, made once where the bot is wired together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from oshaberi.chunks import ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.tables import PackagedRenderer, TableRenderer
from oshaberi.providers.context import ToolDeclaration, ToolResult
from oshaberi.storage.records import ModelRecord, PersonaRecord
from oshaberi.stream.stops import StopRegistry
from oshaberi.tools.base import ToolContext
from oshaberi.turns.config import TurnConfig
from oshaberi.turns.recent import Recent
from oshaberi.turns.rests import KeyRests
from oshaberi.turns.store import Store
from oshaberi.turns.values import Attached
from oshaberi.turns.witness import StreamWitness

if TYPE_CHECKING:
    from oshaberi.delivery.journal import Journal
    from oshaberi.turns.adapters import AdapterPool


class Effective(Protocol):
    """The settings that hold in one server (`oshaberi.config.effective` makes them)."""

    @property
    def stream(self) -> StreamConfig: ...
    @property
    def turn(self) -> TurnConfig: ...


class Tools(Protocol):
    """What a model may do besides talking (`oshaberi.tools.ToolBox`)."""

    def declarations(self, context: ToolContext) -> tuple[ToolDeclaration, ...]: ...

    async def run(
        self,
        calls: Sequence[ToolCall],
        context: ToolContext,
        *,
        timeout_ms: int,
        result_limit_chars: int,
    ) -> tuple[ToolResult, ...]: ...


@dataclass(slots=True)
class Link:
    """A model of the operator's own settings, with its keys."""

    model: ModelRecord
    keys: tuple[str, ...] = field(default=(), repr=False)


MOST_SERVERS = 1000
NOBODY_YET = PersonaRecord(0, "Oshaberi", is_default=True)


def utc_now() -> datetime:
    return datetime.now(UTC)


SettingsOf = Callable[[int], Awaitable[Effective]]
ReadText = Callable[[Attached], Awaitable[str | None]]
Alone = Callable[[str], AbstractAsyncContextManager[object]]
"""Keeps other processes out of a block of that name: `turn:` and a channel's id."""


def nobody_else(_what: str) -> AbstractAsyncContextManager[object]:
    return nullcontext()


@dataclass(slots=True)
class Services:
    """`settings` gives what holds in a server, by its id; 0 is direct messages.

    `models` and `persona` are the operator's and may be replaced while the bot runs.
    """

    settings: SettingsOf
    stops: StopRegistry
    adapters: AdapterPool
    tools: Tools | None = None
    store: Store | None = None
    journal: Journal | None = None
    """The database's, if what leaves is to survive a crash."""
    instance: str = ""
    models: tuple[Link, ...] = ()
    """For servers that have no chain of their own."""
    persona: PersonaRecord = NOBODY_YET
    """The default persona of servers that have none."""
    witnesses: tuple[StreamWitness, ...] = ()
    renderer: TableRenderer = field(default_factory=PackagedRenderer)
    read_text: ReadText | None = None
    """The text of a small file that came with a message; None if it cannot be had."""
    clock: Callable[[], datetime] = utc_now
    alone: Alone = nobody_else
    rests: KeyRests = field(default_factory=KeyRests)
    guests: Recent[int, bool] = field(default_factory=lambda: Recent(MOST_SERVERS))
    """Servers, and whether they had no models of their own when the database was last asked."""
