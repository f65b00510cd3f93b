"""The objects that all turns of a process share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from random import random
from typing import Protocol

from oshaberi.bot.conversation.messages import AttachedFile, ChannelPath
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.storage.repositories.models import KeyScope
from oshaberi.bot.tools.definition import ToolContext, ToolText
from oshaberi.bot.turns.caches import BoundedCache, StoredCache
from oshaberi.bot.turns.outcome import AnswerTimes
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.model_outages import ModelOutages
from oshaberi.bot.turns.services.models import KeyCooldowns, OperatorModel, StoredChains
from oshaberi.bot.turns.services.turn_slots import TurnSlots
from oshaberi.bot.turns.turn_store import TurnStore
from oshaberi.chunks import ToolCall
from oshaberi.delivery.attachments import DeliveryPlugIns, PackagedRenderer, TableRenderer
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.journal import SendJournal
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.providers.request.model_request import ToolDeclaration, ToolResult
from oshaberi.stream.observers import StreamObserver
from oshaberi.stream.stops import StopRegistry
from oshaberi.turn_spans import TurnTracer


class EffectiveConfigs(Protocol):
    """The settings that apply in one channel. `effective()` of `oshaberi.bot.config` makes them."""

    @property
    def stream(self) -> StreamConfig: ...
    @property
    def turn(self) -> TurnConfig: ...


class ToolRunner(Protocol):
    """Runs the tools that a model may call (`oshaberi.bot.tools.ToolBox`)."""

    def declarations(self, context: ToolContext) -> tuple[ToolDeclaration, ...]: ...

    async def run(
        self,
        calls: Sequence[ToolCall],
        context: ToolContext,
        *,
        timeout_ms: int,
        result_limit_chars: int,
    ) -> tuple[ToolResult, ...]: ...


MOST_SERVERS = 1000
MOST_DELETED = 4000
NOBODY_YET = PersonaRecord(0, "Oshaberi", is_default=True)


def utc_now() -> datetime:
    return datetime.now(UTC)


def loop_time_s() -> float:
    """Return the event loop's time: waits and pauses are measured by it, not by the wall clock."""
    return asyncio.get_running_loop().time()


SettingsOf = Callable[[ChannelPath], Awaitable[EffectiveConfigs]]
ReadText = Callable[[AttachedFile], Awaitable[str | None]]
Alone = Callable[[str], AbstractAsyncContextManager[object]]
"""Locks a name (`turn:` and a channel's id) against other processes, for a block."""


def nobody_else(_what: str) -> AbstractAsyncContextManager[object]:
    return nullcontext()


@dataclass(slots=True)
class TurnServices:
    """The shared objects. `settings` returns a channel's settings.

    `models` and `persona` are the operator's and may be replaced while the bot runs.
    """

    settings: SettingsOf
    stops: StopRegistry
    adapters: AdapterPool
    tools: ToolRunner | None = None
    store: TurnStore | None = None
    journal: SendJournal | None = None
    """The database's journal, if sent messages are to survive a crash."""
    instance: str = ""
    models: tuple[OperatorModel, ...] = ()
    """The models of servers that have no chain of their own."""
    allow_local_models: Callable[[], bool] = lambda: False
    """Whether models that were chosen by command may be inside the operator's network."""
    persona: PersonaRecord = NOBODY_YET
    """The default persona of servers that have none."""
    observers: tuple[StreamObserver, ...] = ()
    renderer: TableRenderer = field(default_factory=PackagedRenderer)
    plug_ins: DeliveryPlugIns = field(default_factory=DeliveryPlugIns)
    tool_text: Mapping[str, ToolText] = field(default_factory=dict)
    """Plug-ins for text that tools write into the channel."""
    read_text: ReadText | None = None
    """Returns the text of a small attached file; None if it cannot be read."""
    context_since: datetime | None = None
    """What was said before this time is not shown to the model: another model answered it."""
    clock: Callable[[], datetime] = utc_now
    draw: Callable[[], float] = random
    """Returns a random number below 1, which decides whether the bot speaks unasked."""
    alone: Alone = nobody_else
    outage: ServiceOutage | None = None
    """Decides whether Discord answers; None if nobody knows. Questions wait while it does not."""
    slots: TurnSlots = field(default_factory=TurnSlots)
    """Limits how many turns run at once."""
    cooldowns: KeyCooldowns = field(default_factory=KeyCooldowns)
    model_outages: ModelOutages = field(default_factory=ModelOutages)
    """The models that fail now, for the log."""
    chains: StoredCache[KeyScope, StoredChains] = field(
        default_factory=lambda: StoredCache(MOST_SERVERS, "models", "keys")
    )
    """The stored models of each server and person, with their keys."""
    deleted_messages: BoundedCache[int, bool] = field(
        default_factory=lambda: BoundedCache(MOST_DELETED)
    )
    """Recently deleted messages: what was said in them is not remembered."""
    on_answered: Callable[[AnswerTimes], None] = lambda _times: None
    """Called when the first persona that a message asked has answered or failed."""
    tracer: TurnTracer | None = None
    """Records what each turn does and for how long; None means that nothing is traced."""
    operator_turn: Callable[[], TurnConfig] = TurnConfig
    """Returns the operator's settings as they are now: the operator's quotas apply besides a
    server's."""
    summaries_paused: BoundedCache[int, float] = field(
        default_factory=lambda: BoundedCache(MOST_SERVERS)
    )
    """Channels where a summary failed, and until when (the loop's clock) none is made."""
    quota_unknown_told: BoundedCache[int, date] = field(
        default_factory=lambda: BoundedCache(MOST_SERVERS)
    )
    """Channels that were told that quotas cannot be counted, and on which day."""
