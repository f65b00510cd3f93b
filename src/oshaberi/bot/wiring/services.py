"""What all turns of a process share: database, Redis, settings, tools, models, observers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from oshaberi.bot.client.discord_values import read_text
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.current_settings import CurrentSettings, operator_choices, plug_ins_of
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.coordination.cache_invalidation import cache_invalidation
from oshaberi.bot.coordination.message_claims import (
    InstanceLease,
    ProcessCoordination,
    SingleProcess,
)
from oshaberi.bot.faces.kept_pictures import Faces
from oshaberi.bot.faces.pictures import LARGEST_BYTES
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.observability.open_telemetry import open_telemetry
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.leases import postgres_lease, sole_owner
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.tools.builtin import builtin_tools
from oshaberi.bot.tools.definition import installed_tool_text
from oshaberi.bot.tools.toolbox import ToolBox, load_tools
from oshaberi.bot.turns.services.adapter_pool import AdapterPool, Connect
from oshaberi.bot.turns.services.model_access import ModelAccess, forget_lessons
from oshaberi.bot.turns.services.turn_services import (
    AnswerTools,
    TurnObservers,
    TurnServices,
    TurnTraffic,
)
from oshaberi.bot.turns.services.turn_slots import TurnSlots
from oshaberi.clocks import utc_now
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.errors import ConfigError
from oshaberi.providers.capabilities import LearnedLimits
from oshaberi.public_fetching import PublicWeb
from oshaberi.stream.observers import StreamObserver


@dataclass(frozen=True, slots=True)
class ProcessStores:
    """The database and the coordination. `leases` tell which processes have ended."""

    db: Database
    shared: ProcessCoordination
    leases: Mapping[str, InstanceLease]


@asynccontextmanager
async def open_stores(settings: LoadedSettings) -> AsyncIterator[ProcessStores]:
    """Open the database and Redis, which processes share, and take this process's lease."""
    vault = SecretVault.from_environment_or_file(settings.secret_key_file)
    with _sole_owner_of_file(settings):
        async with (
            Database.open(settings.database_url, vault) as db,
            shared_state(settings.redis_url, settings.instance) as shared,
            postgres_lease(settings.database_url, settings.instance) as lease,
            cache_invalidation(db, settings.redis_url),
        ):
            leases = {**shared.leases, **({} if lease is None else {"postgresql": lease})}
            yield ProcessStores(db, shared, leases)


@asynccontextmanager
async def shared_state(
    redis_url: str | None, instance: str = ""
) -> AsyncIterator[ProcessCoordination]:
    """Use memory, or Redis if there is a URL. Raises ConfigError if Redis is not reachable."""
    if redis_url is None:
        yield SingleProcess()
        return
    try:
        from oshaberi.bot.coordination.redis_coordination import over_redis
    except ImportError:
        raise ConfigError('redis_url: needs pip install "oshaberi[redis]"') from None

    async with over_redis(redis_url, instance) as shared:
        yield shared


def _sole_owner_of_file(settings: LoadedSettings) -> AbstractContextManager[object]:
    """Keep a second process away from a SQLite file. With Redis, the locks of turns do."""
    if settings.redis_url is not None:
        return nullcontext()
    return sole_owner(settings.database_url, settings.instance)


@asynccontextmanager
async def open_tools(settings: LoadedSettings, secrets: Iterable[str]) -> AsyncIterator[ToolBox]:
    """Open built-in tools, the operator's own modules and MCP servers, which run for the block."""
    folder = settings.file.parent if settings.file else Path.cwd()
    tools = (*builtin_tools(), *load_tools(settings.tools, folder))
    if not settings.mcp_servers:
        yield ToolBox(tools, secrets=secrets)
        return
    from oshaberi.bot.tools.mcp import McpTools, mcp_servers

    async with McpTools(mcp_servers(settings.mcp_servers)) as mcp:
        yield ToolBox(tools, more=lambda: mcp.tools, secrets=secrets)


@asynccontextmanager
async def open_services(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    stores: ProcessStores,
    bot_metrics: BotMetrics,
    observers: Sequence[StreamObserver],
    connect: Connect,
    outage: ServiceOutage,
    clock: Callable[[], datetime] = utc_now,
) -> AsyncIterator[tuple[TurnServices, CurrentSettings, Faces]]:
    """Open tools, adapters and tracing for the block."""
    db, shared, learned = stores.db, stores.shared, LearnedLimits()
    making = partial(connect, learned=learned, budgets=settings.answer_budgets)
    pool = AdapterPool(making, learned=learned)
    async with (
        open_tools(settings, settings.secrets(environ)) as tools,
        aclosing(pool) as adapters,
        open_telemetry(settings.otel_endpoint, settings.instance) as tracer,
    ):
        db.changes.on_lessons = partial(forget_lessons, learned)
        operator, plug_ins = operator_choices(settings, environ), plug_ins_of(settings)
        current_settings = CurrentSettings(settings, environ, db, operator, plug_ins)
        slots = TurnSlots(settings.max_simultaneous_turns, settings.max_wait_s)
        faces = faces_of(settings, db, current_settings)
        services = TurnServices(
            settings=current_settings.of,
            db=db,
            models=ModelAccess(operator, adapters, db, clock),
            traffic=TurnTraffic(shared.stops, slots, shared.alone, outage),
            answer_tools=AnswerTools(tools, installed_tool_text(), plug_ins=plug_ins),
            observers=TurnObservers(tuple(observers), bot_metrics.note_answer, tracer),
            read_text=read_text,
            usable_faces=faces.usable,
            instance=settings.instance,
            clock=clock,
        )
        try:
            yield services, current_settings, faces
        finally:
            await faces.close()


def faces_of(settings: LoadedSettings, db: Database, current: CurrentSettings) -> Faces:
    async def chosen(server_id: int) -> int:
        return (await current.of(ChannelPath(server_id, 0))).turn.picture_channel_id

    web = PublicWeb(max_bytes=LARGEST_BYTES)
    return Faces(db, PictureFiles(settings.data_dir), web, chosen)
