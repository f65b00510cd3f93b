"""Makes what all turns of a process share: settings, tools, models and their observers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial

from oshaberi.bot.bot_tools import open_tools
from oshaberi.bot.client.attached_text import read_text
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.observability.open_telemetry import open_telemetry
from oshaberi.bot.settings.current_settings import CurrentSettings
from oshaberi.bot.settings.operator_defaults import links, persona_of, plug_ins_of
from oshaberi.bot.wiring.process_stores import ProcessStores
from oshaberi.config import LoadedSettings
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.providers.capabilities import LearnedLimits
from oshaberi.stream.stream_observer import StreamObserver
from oshaberi.tools.tool_text_plug_ins import installed_tool_text
from oshaberi.turns.services.adapter_pool import AdapterPool, Connect
from oshaberi.turns.services.turn_services import TurnServices
from oshaberi.turns.services.turn_slots import TurnSlots


@asynccontextmanager
async def open_services(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    stores: ProcessStores,
    bot_metrics: BotMetrics,
    observers: Sequence[StreamObserver],
    connect: Connect,
    outage: ServiceOutage,
) -> AsyncIterator[tuple[TurnServices, CurrentSettings]]:
    """Open tools, adapters and tracing for the block."""
    db, shared, learned = stores.db, stores.shared, LearnedLimits()
    making = partial(connect, learned=learned, budgets=settings.answer_budgets)
    pool = AdapterPool(making, learned=learned)
    async with (
        open_tools(settings, settings.secrets(environ)) as tools,
        aclosing(pool) as adapters,
        open_telemetry(settings.otel_endpoint, settings.instance) as tracer,
    ):
        current_settings = CurrentSettings(settings, environ, db, lambda: services)
        services = TurnServices(
            settings=current_settings.of,
            stops=shared.stops,
            adapters=adapters,
            tools=tools,
            store=db,
            journal=db.journal,
            instance=settings.instance,
            models=links(settings, environ),
            allow_local_models=lambda: current_settings.operators().allow_local_models,
            persona=persona_of(settings),
            observers=tuple(observers),
            plug_ins=plug_ins_of(settings),
            tool_text=installed_tool_text(),
            read_text=read_text,
            alone=shared.alone,
            outage=outage,
            slots=TurnSlots(settings.max_simultaneous_turns, settings.max_wait_s),
            operator_turn=lambda: current_settings.operators().turn,
            on_answered=bot_metrics.note_answer,
            tracer=tracer,
        )
        yield services, current_settings
