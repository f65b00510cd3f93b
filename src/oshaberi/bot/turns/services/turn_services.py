"""What all turns of a process share, in groups that are handed on by name.

`ChannelTurns.over` takes it apart, and gives each step only what it uses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from random import random
from typing import Any

from oshaberi.bot.characters.lore_scan import LoreScan
from oshaberi.bot.conversation.messages import AttachedFile, ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.tools.definition import ToolText
from oshaberi.bot.tools.questions import ToolQuestions
from oshaberi.bot.tools.toolbox import ToolBox
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.services.lore_shelf import LoreShelf
from oshaberi.bot.turns.services.model_access import MOST_SERVERS, ModelAccess
from oshaberi.bot.turns.services.turn_slots import TurnSlots
from oshaberi.clocks import utc_now
from oshaberi.delivery.attachments import DeliveryPlugIns, PackagedRenderer, TableRenderer
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.stream.observers import StreamObserver
from oshaberi.stream.stops import StopRegistry
from oshaberi.turn_tracing import TurnTracer

log = logging.getLogger(__name__)

MOST_DELETED = 4000

SettingsOf = Callable[[ChannelPath], Awaitable[EffectiveSettings]]
UsableFaces = Callable[
    [int, PersonaRecord, Sequence[PersonaRecord]],
    Awaitable[tuple[PersonaRecord, tuple[PersonaRecord, ...]]],
]
ReadText = Callable[[AttachedFile], Awaitable[str | None]]
Alone = Callable[[str], AbstractAsyncContextManager[object]]
"""Locks a name (`turn:` and a channel's id) against other processes, for a block."""


def nobody_else(_what: str) -> AbstractAsyncContextManager[object]:
    return nullcontext()


async def as_they_are(
    _server_id: int, persona: PersonaRecord, others: Sequence[PersonaRecord]
) -> tuple[PersonaRecord, tuple[PersonaRecord, ...]]:
    return persona, tuple(others)


class BackgroundTasks:
    """Runs small tasks that no answer waits for, and logs which of them failed."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, what: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Start a task. `what` names it in the log if it fails."""
        task = asyncio.create_task(self._guarded(what, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self, seconds: float) -> None:
        """Wait for running tasks, and cancel those that take longer than `seconds`."""
        if self._tasks:
            _, late = await asyncio.wait(set(self._tasks), timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    async def _guarded(self, what: str, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Exception as error:
            # The answer does not depend on it.
            log.info("%s failed: %s: %s", what, type(error).__name__, error)


@dataclass(frozen=True, slots=True)
class TurnTraffic:
    """What a turn waits for before it runs, and what stops it."""

    stops: StopRegistry = field(default_factory=StopRegistry)
    slots: TurnSlots = field(default_factory=TurnSlots)
    """Limits how many turns run at once."""
    alone: Alone = nobody_else
    outage: ServiceOutage | None = None
    """Decides whether Discord answers; None if nobody knows. Questions wait while it does not."""


@dataclass(frozen=True, slots=True)
class AnswerTools:
    """What an answer may use besides the model's text: tools, pictures of tables, plug-ins."""

    tools: ToolBox = field(default_factory=ToolBox)
    tool_text: Mapping[str, ToolText] = field(default_factory=dict)
    """Plug-ins for text that tools write into the channel."""
    renderer: TableRenderer = field(default_factory=PackagedRenderer)
    plug_ins: DeliveryPlugIns = field(default_factory=DeliveryPlugIns)
    questions: ToolQuestions = field(default_factory=ToolQuestions)
    """The questions of tools that wait for a person."""


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """The waits of one answer in seconds. None: there was no such text, or nobody asked."""

    first_token_s: float | None = None
    first_message_s: float | None = None
    limit_waits_s: tuple[float, ...] = ()
    """How long each message that had to wait for a limit of Discord waited."""


@dataclass(frozen=True, slots=True)
class TurnObservers:
    """The observers of turns: logs, metrics, traces."""

    streams: tuple[StreamObserver, ...] = ()
    on_answered: Callable[[AnswerTimes], None] = lambda _times: None
    """Called when the first persona that a message asked has answered or failed."""
    tracer: TurnTracer | None = None
    """Records what each turn does and for how long; None means that nothing is traced."""


@dataclass(frozen=True, slots=True)
class ChannelNotes:
    """What a process remembers about channels for a while."""

    deleted_messages: BoundedCache[int, bool] = field(
        default_factory=lambda: BoundedCache(MOST_DELETED)
    )
    """Recently deleted messages: what was said in them is not remembered."""
    woken_lore: BoundedCache[int, LoreScan] = field(
        default_factory=lambda: BoundedCache(MOST_DELETED)
    )
    """The lore that a question woke, by the question's id."""
    history_starts: BoundedCache[int, Any] = field(
        default_factory=lambda: BoundedCache(MOST_SERVERS)
    )
    """Where each channel's history began in the last request (`context.surroundings`)."""
    greeted: BoundedCache[tuple[int, int], bool] = field(
        default_factory=lambda: BoundedCache(MOST_DELETED)
    )
    """Personas (by id) that are known to have greeted a channel."""
    summaries_paused: BoundedCache[int, float] = field(
        default_factory=lambda: BoundedCache(MOST_SERVERS)
    )
    """Channels where a summary failed, with the time (the loop's) before which none is tried
    again."""


@dataclass(frozen=True, slots=True)
class TurnServices:
    """What all turns of a process share. `settings` returns a channel's settings."""

    settings: SettingsOf
    db: Database
    models: ModelAccess
    traffic: TurnTraffic = field(default_factory=TurnTraffic)
    answer_tools: AnswerTools = field(default_factory=AnswerTools)
    observers: TurnObservers = field(default_factory=TurnObservers)
    notes: ChannelNotes = field(default_factory=ChannelNotes)
    lore: LoreShelf = field(default_factory=LoreShelf)
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    read_text: ReadText | None = None
    """Returns the text of a small attached file; None if it cannot be read."""
    usable_faces: UsableFaces = as_they_are
    """Returns the personas with only those pictures that can be shown."""
    instance: str = ""
    """The name of this process in the database."""
    clock: Callable[[], datetime] = utc_now
    draw: Callable[[], float] = random
    """Returns a random number below 1, which decides whether the bot speaks unasked."""
