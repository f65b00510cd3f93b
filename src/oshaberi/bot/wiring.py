"""Wires the bot together. The parts are closed in reverse order.

`run` is the whole life of one process: it takes up what an earlier one left, answers until it is
told to end, lets running answers finish, and closes everything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from oshaberi.bot.bot_tools import open_tools
from oshaberi.bot.cache_invalidation import cache_invalidation
from oshaberi.bot.client.attached_text import read_text
from oshaberi.bot.client.channel_places import is_gone
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.commands import CommandContext
from oshaberi.bot.coordination.crash_recovery import CrashRecovery
from oshaberi.bot.coordination.orphaned_journals import OrphanedJournals
from oshaberi.bot.coordination.process_coordination import ProcessCoordination, shared_state
from oshaberi.bot.coordination.question_recovery import QuestionRecovery
from oshaberi.bot.coordination.shard_keeper import ShardKeeper
from oshaberi.bot.data_retention import DataRetention
from oshaberi.bot.database_pruning import prune_regularly
from oshaberi.bot.live_settings import LiveSettings
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.observability.model_health import ModelHealth
from oshaberi.bot.observability.open_telemetry import open_telemetry
from oshaberi.bot.observability.systemd_notify import SystemdNotifier
from oshaberi.bot.old_direct_message_keys import adopt_direct_keys
from oshaberi.bot.operator_defaults import links, persona_of, plug_ins_of
from oshaberi.bot.operator_endpoint import OperatorSigns, operator_endpoint
from oshaberi.bot.shutdown import ShutdownSignals
from oshaberi.config import LoadedSettings, Reloader
from oshaberi.discord_io import RequestBudget, RequestFence
from oshaberi.discord_io.requests.api_address import requests_through
from oshaberi.discord_io.requests.request_budget import PER_SECOND
from oshaberi.errors import OshaberiError
from oshaberi.languages.translation_catalogues import CATALOGUES, PACKAGED
from oshaberi.logs import RecentWarnings, StreamLogger
from oshaberi.providers.adapter_registry import connect
from oshaberi.providers.capabilities import LearnedLimits
from oshaberi.storage import Database, SecretVault
from oshaberi.storage.postgres_lease import postgres_lease
from oshaberi.storage.sqlite_ownership import sole_owner
from oshaberi.stream.stream_observer import StreamObserver
from oshaberi.tools.tool_text import installed_tool_text
from oshaberi.turns.admission.turn_slots import TurnSlots
from oshaberi.turns.channel_turns import ChannelTurns
from oshaberi.turns.generation.adapter_pool import AdapterPool, Connect
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

GUILDS_READY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Bot:
    """All open parts of a bot. It does nothing until its client serves."""

    client: OshaberiClient
    channel_turns: ChannelTurns
    services: TurnServices
    db: Database
    shared: ProcessCoordination
    bot_metrics: BotMetrics
    reloader: Reloader
    orphaned_journals: OrphanedJournals
    data_retention: DataRetention
    shard_keeper: ShardKeeper | None = None

    async def serve(self, token: str) -> None:
        """Serve until closed. The keeper of the shards ends with the client, and the reverse."""
        tasks = {asyncio.create_task(self.client.serve(token))}
        if self.shard_keeper is not None:
            tasks.add(asyncio.create_task(self.shard_keeper.run()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await next(task for task in tasks if task.done())
        finally:
            for task in tasks:
                await _end(task)


async def run(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    *,
    observers: Sequence[StreamObserver] = (),
    on_ready: Callable[[], None] = lambda: None,
    on_open: Callable[[Bot], None] = lambda _bot: None,
    guild_ready_timeout: float = GUILDS_READY_SECONDS,
    grace_s: float | None = None,
    connect: Connect = connect,
) -> None:
    """Run the bot until a signal ends it. `on_ready` is called when it can answer.

    Running answers get `grace_s` seconds to finish (default `shutdown_grace_s`); a second
    signal does not wait for them.
    """
    assert settings.discord_token is not None
    grace_s = settings.shutdown_grace_s if grace_s is None else grace_s
    systemd = SystemdNotifier(environ)

    def ready() -> None:
        systemd.ready()
        on_ready()

    opened = open_bot(settings, environ, observers, ready, guild_ready_timeout, connect)
    with ShutdownSignals() as ending:
        async with opened as bot:
            on_open(bot)
            serving = asyncio.create_task(bot.serve(settings.discord_token))
            watching = asyncio.create_task(bot.reloader.watch())
            following = asyncio.create_task(_take_over(bot))
            succeeding = asyncio.create_task(bot.orphaned_journals.run())
            pruning = asyncio.create_task(prune_regularly(bot.db))
            retaining = asyncio.create_task(bot.data_retention.run())
            living = asyncio.create_task(systemd.keep_alive())
            try:
                await ending.or_done(serving)
                systemd.stopping()
                if not serving.done():
                    log.info("ending; a second Ctrl-C does not wait for running answers")
                    if bot.shard_keeper is not None:
                        await ending.or_done(bot.shard_keeper.leave())
                    await ending.or_done(bot.channel_turns.shutdown(grace_s))
            finally:
                await _end(watching)
                await _end(following)
                await _end(succeeding)
                await _end(pruning)
                await _end(retaining)
                if bot.shard_keeper is not None:
                    await bot.shard_keeper.leave(0)
                await bot.client.close()
                await _end(serving)
                await _end(living)
            if not serving.cancelled() and (error := serving.exception()) is not None:
                raise error


async def _take_over(bot: Bot) -> None:
    """Take up messages that an ended process had claimed and not answered."""
    while True:
        await bot.shared.departure()
        try:
            await bot.client.look_back()
        except (OshaberiError, OSError) as error:
            log.error("what an ended process left could not be looked for: %s", error)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait({task})


@asynccontextmanager
async def open_bot(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    observers: Sequence[StreamObserver] = (),
    on_ready: Callable[[], None] = lambda: None,
    guild_ready_timeout: float = GUILDS_READY_SECONDS,
    connect: Connect = connect,
) -> AsyncIterator[Bot]:
    """Open database, coordination, tools, models and client; close them in reverse order."""
    async with AsyncExitStack() as stack:
        CATALOGUES.use_folders((PACKAGED, settings.data_dir / "languages"))
        warnings = RecentWarnings(settings.secrets(environ))
        stack.enter_context(warnings.listening())
        stack.enter_context(requests_through(settings.discord_api_url))
        vault = SecretVault.from_environment_or_file(settings.secret_key_file)
        if settings.redis_url is None:  # with Redis each turn holds a lock
            stack.enter_context(sole_owner(settings.database_url, settings.instance))
        db = await stack.enter_async_context(Database.open(settings.database_url, vault))
        shared = await stack.enter_async_context(
            shared_state(settings.redis_url, settings.instance)
        )
        lease = await stack.enter_async_context(
            postgres_lease(settings.database_url, settings.instance)
        )
        leases = {**shared.leases, **({} if lease is None else {"postgresql": lease})}
        await stack.enter_async_context(cache_invalidation(db, settings.redis_url))
        secrets = settings.secrets(environ)
        tools = await stack.enter_async_context(open_tools(settings, secrets))
        learned = LearnedLimits()
        adapters = AdapterPool(partial(connect, learned=learned), learned=learned)
        stack.push_async_callback(adapters.aclose)
        live_settings = LiveSettings(settings, environ, db, lambda: services)
        bot_metrics = BotMetrics(lambda: client.latency)
        tracer = await stack.enter_async_context(
            open_telemetry(settings.otel_endpoint, settings.instance)
        )
        model_health = ModelHealth()
        services = TurnServices(
            settings=live_settings.of,
            stops=shared.stops,
            adapters=adapters,
            tools=tools,
            store=db,
            journal=db.journal,
            instance=settings.instance,
            models=links(settings, environ),
            allow_local_models=lambda: live_settings.operators().allow_local_models,
            persona=persona_of(settings),
            observers=(StreamLogger(), bot_metrics, model_health, *observers),
            plug_ins=plug_ins_of(settings),
            tool_text=installed_tool_text(),
            read_text=read_text,
            alone=shared.alone,
            slots=TurnSlots(settings.max_simultaneous_turns, settings.max_wait_s),
            operator_turn=lambda: live_settings.operators().turn,
            on_answered=bot_metrics.note_answer,
            tracer=tracer,
        )
        channel_turns = ChannelTurns(services, claim=shared.claim)
        max_age = timedelta(seconds=settings.max_question_age_s)
        fence = RequestFence()
        table = shared.shard_leases() if settings.shards == "auto" else None
        keeper = None if table is None else ShardKeeper(table, fence, settings.shard_count)

        is_ready = asyncio.Event()

        async def when_ready() -> None:
            await adopt_direct_keys(db, client.application)
            count = await recovery.run()
            if count:
                log.info("%d answers of an earlier process were settled", count)
            is_ready.set()
            on_ready()
            if keeper is not None:
                keeper.get_ready()

        async def take_up() -> None:
            await questions.run()

        context = CommandContext(db, channel_turns, services, live_settings.operators)
        client = OshaberiClient(
            context,
            alone=shared.alone,
            claim=shared.claim,
            when_ready=when_ready,
            take_up=take_up,
            guild_ready_timeout=guild_ready_timeout,
            shard_ids=list(settings.shard_ids) or None,
            shard_count=settings.shard_count or None,
            shard_terms=keeper,
            fence=fence,
            budget=RequestBudget(0 if settings.discord_api_url else PER_SECOND),
        )
        bot_metrics.discord_requests.watch(client.guard, client.budget, client.request_meter)
        db.watch(bot_metrics.database_meter())
        client.unanswered.on_unanswered = bot_metrics.note_unanswered
        bot_metrics.process_gauges.watch(
            turns_running=lambda: services.slots.taken,
            turns_waiting=lambda: channel_turns.waiting() + services.slots.waiting,
            shards=lambda: len(client.gateway_state.shard_ids()),
            shards_connected=client.gateway_state.connected_count,
            discord_requests_waiting=lambda: client.budget.waiting,
            database_away=lambda: db.problem() is not None,
            redis_away=lambda: shared.problem is not None,
        )
        await stack.enter_async_context(bot_metrics.process_gauges.measuring_lag())
        await stack.enter_async_context(shared.share_requests(client.guard, client.budget))
        stack.push_async_callback(client.close)
        find, say_in = client.find_turn_channel, live_settings.language_of
        recovery = CrashRecovery(db, settings.instance, find, shared.alone, say_in)
        questions = QuestionRecovery(db, settings.instance, find, channel_turns, max_age, say_in)
        orphaned_journals = OrphanedJournals(
            db, settings.instance, recovery, questions, client.is_ready, leases
        )
        unready = _unready(is_ready, channel_turns, keeper)
        signs = OperatorSigns(bot_metrics, model_health, warnings, unready)
        await stack.enter_async_context(
            operator_endpoint(settings, environ, context, client, shared, signs)
        )
        reloader = live_settings.reloader
        await db.opt_outs.refresh()
        yield Bot(
            client,
            channel_turns,
            services,
            db,
            shared,
            bot_metrics,
            reloader,
            orphaned_journals,
            DataRetention(
                db,
                live_settings.operators,
                client.server_ids,
                client.would_have,
                is_gone=partial(is_gone, client),
            ),
            keeper,
        )


def _unready(
    is_ready: asyncio.Event, channel_turns: ChannelTurns, keeper: ShardKeeper | None
) -> Callable[[], str | None]:
    """Return a check that tells why no new question is taken."""

    def problem() -> str | None:
        if channel_turns.is_closing:
            return "the bot is ending"
        if not is_ready.is_set():
            return "the bot is starting"
        return None if keeper is None else keeper.problem()

    return problem
