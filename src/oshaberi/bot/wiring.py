"""Wires the bot together. What is opened first is closed last.

`run` is the whole life of one process: it takes up what an earlier one left behind, answers until
it is told to end, lets running answers finish, and leaves nothing open.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from oshaberi.bot.bot_tools import open_tools
from oshaberi.bot.client.attached_text import read_text
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.commands import CommandContext
from oshaberi.bot.coordination.crash_recovery import CrashRecovery
from oshaberi.bot.coordination.orphaned_journals import OrphanedJournals
from oshaberi.bot.coordination.process_coordination import ProcessCoordination, shared_state
from oshaberi.bot.direct_message_keys import adopt_direct_keys
from oshaberi.bot.live_settings import LiveSettings
from oshaberi.bot.observability.health_endpoint import health_endpoint
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.operator_defaults import links, persona_of
from oshaberi.bot.shutdown import ShutdownSignals
from oshaberi.config import LoadedSettings, Reloader
from oshaberi.errors import OshaberiError
from oshaberi.logs import StreamLogger
from oshaberi.providers.adapter_registry import connect
from oshaberi.storage import Database, SecretVault
from oshaberi.storage.sqlite_ownership import sole_owner
from oshaberi.stream.stream_observer import StreamObserver
from oshaberi.turns.channel_turns import ChannelTurns
from oshaberi.turns.generation.adapter_pool import AdapterPool, Connect
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

GRACE_SECONDS = 20.0
GUILDS_READY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Bot:
    """Everything of a bot that is open. It does nothing until its client serves."""

    client: OshaberiClient
    channel_turns: ChannelTurns
    services: TurnServices
    db: Database
    shared: ProcessCoordination
    bot_metrics: BotMetrics
    reloader: Reloader
    orphaned_journals: OrphanedJournals


async def run(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    *,
    observers: Sequence[StreamObserver] = (),
    on_ready: Callable[[], None] = lambda: None,
    on_open: Callable[[Bot], None] = lambda _bot: None,
    guild_ready_timeout: float = GUILDS_READY_SECONDS,
    grace_s: float = GRACE_SECONDS,
    connect: Connect = connect,
) -> None:
    """Until a signal ends it. `on_ready` is called when it answers.

    Running answers get `grace_s` to finish; a second signal does not wait for them.
    """
    assert settings.discord_token is not None
    opened = open_bot(settings, environ, observers, on_ready, guild_ready_timeout, connect)
    with ShutdownSignals() as ending:
        async with opened as bot:
            on_open(bot)
            serving = asyncio.create_task(bot.client.serve(settings.discord_token))
            watching = asyncio.create_task(bot.reloader.watch())
            following = asyncio.create_task(_take_over(bot))
            succeeding = asyncio.create_task(bot.orphaned_journals.run())
            try:
                await ending.or_done(serving)
                if not serving.done():
                    log.info("ending; a second Ctrl-C does not wait for running answers")
                    await ending.or_done(bot.channel_turns.shutdown(grace_s))
            finally:
                await _end(watching)
                await _end(following)
                await _end(succeeding)
                await bot.client.close()
                await _end(serving)
            if not serving.cancelled() and (error := serving.exception()) is not None:
                raise error


async def _take_over(bot: Bot) -> None:
    """What an ended process had taken and not answered."""
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
    """Database, shared state, tools, models, client; closed in the opposite order."""
    async with AsyncExitStack() as stack:
        vault = SecretVault.from_environment_or_file(settings.secret_key_file)
        if settings.redis_url is None:  # with Redis each turn holds a lock
            stack.enter_context(sole_owner(settings.database_url, settings.instance))
        db = await stack.enter_async_context(Database.open(settings.database_url, vault))
        shared = await stack.enter_async_context(shared_state(settings.redis_url))
        secrets = settings.secrets(environ)
        tools = await stack.enter_async_context(open_tools(settings, secrets))
        adapters = AdapterPool(connect)
        stack.push_async_callback(adapters.aclose)
        live_settings = LiveSettings(settings, environ, db, lambda: services)
        bot_metrics = BotMetrics(lambda: client.latency)
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
            observers=(StreamLogger(), bot_metrics, *observers),
            read_text=read_text,
            alone=shared.alone,
            operator_turn=lambda: live_settings.operators().turn,
        )
        channel_turns = ChannelTurns(services, claim=shared.claim)

        async def when_ready() -> None:
            await adopt_direct_keys(db, client.application)
            count = await recovery.run()
            if count:
                log.info("%d answers of an earlier process were settled", count)
            on_ready()

        context = CommandContext(db, channel_turns, services, live_settings.operators)
        client = OshaberiClient(
            context,
            alone=shared.alone,
            claim=shared.claim,
            when_ready=when_ready,
            guild_ready_timeout=guild_ready_timeout,
            shard_ids=list(settings.shard_ids) or None,
            shard_count=settings.shard_count or None,
        )
        bot_metrics.watch(client.guard)
        stack.push_async_callback(client.close)
        recovery = CrashRecovery(db, settings.instance, client.find_turn_channel, shared.alone)
        orphaned_journals = OrphanedJournals(db, settings.instance, recovery, client.is_ready)
        if settings.health_port:
            problem = _problem_of(client)
            health = health_endpoint(
                bot_metrics, problem, settings.health_port, settings.health_host
            )
            log.info("health and metrics: %s", await stack.enter_async_context(health))
        reloader = live_settings.reloader
        yield Bot(
            client, channel_turns, services, db, shared, bot_metrics, reloader, orphaned_journals
        )


def _problem_of(client: OshaberiClient) -> Callable[[], str | None]:
    def problem() -> str | None:
        if client.is_closed():
            return "the bot has ended"
        return None if client.is_ready() else "not connected to Discord"

    return problem
