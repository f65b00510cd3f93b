"""Wires the bot together. The parts are closed in reverse order.

`run` is the whole life of one process: it recovers what an earlier process left, answers until it
is told to end, lets running answers finish, and closes everything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.client.discord_values import is_gone
from oshaberi.bot.config import LoadedSettings, Reloader
from oshaberi.bot.coordination.message_claims import ProcessCoordination
from oshaberi.bot.coordination.shard_keeper import HANDOVER_SECONDS, ShardKeeper
from oshaberi.bot.data_retention import DataRetention, prune_regularly
from oshaberi.bot.faces.own_face import OwnFaces
from oshaberi.bot.initiative.due_schedules import DueSchedules
from oshaberi.bot.initiative.openings import Openings
from oshaberi.bot.logs import RecentWarnings, StreamLogger
from oshaberi.bot.observability.health import ModelHealth, RunsOn
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.observability.systemd_notify import SystemdNotifier
from oshaberi.bot.operator_endpoint import OperatorSigns, operator_endpoint
from oshaberi.bot.recovery.orphaned_journals import OrphanedJournals
from oshaberi.bot.storage import Database
from oshaberi.bot.turns.channel_turns import REACTION_SECONDS, ChannelTurns
from oshaberi.bot.turns.running.queue_runner import LAST_SECONDS
from oshaberi.bot.turns.services.adapter_pool import Connect
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.bot.wiring.client_wiring import ConnectedBot
from oshaberi.bot.wiring.services import open_services, open_stores
from oshaberi.bot.wiring.shutdown_signals import ShutdownSignals
from oshaberi.clocks import utc_now
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.discord_io.requests.answers import rest_probe
from oshaberi.discord_io.requests.watch import requests_through
from oshaberi.errors import OshaberiError
from oshaberi.languages.translations import CATALOGUES, PACKAGED
from oshaberi.providers.registry import connect
from oshaberi.stream.observers import StreamObserver

log = logging.getLogger(__name__)

GUILDS_READY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Bot:
    """All open parts of a bot. Nothing happens until its client serves."""

    client: OshaberiClient
    channel_turns: ChannelTurns
    services: TurnServices
    db: Database
    shared: ProcessCoordination
    bot_metrics: BotMetrics
    reloader: Reloader
    orphaned_journals: OrphanedJournals
    data_retention: DataRetention
    due_schedules: DueSchedules
    openings: Openings
    shard_keeper: ShardKeeper | None = None

    async def serve(self, token: str) -> None:
        """Serve until closed. If the client or the shard keeper ends, the other ends too."""
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
    runs_on: RunsOn = "discord",
    signals: ShutdownSignals | None = None,
) -> None:
    """Run the bot until a signal ends it. `on_ready` is called when it can answer.

    Running answers get `grace_s` seconds to finish (default `shutdown_grace_s`); a second
    signal does not wait for them. `signals` are those of the process, if they are caught already.
    """
    grace_s = settings.shutdown_grace_s if grace_s is None else grace_s
    systemd = SystemdNotifier(environ)

    def ready() -> None:
        systemd.ready()
        on_ready()

    opened = open_bot(settings, environ, observers, ready, guild_ready_timeout, connect, runs_on)
    with nullcontext(signals) if signals is not None else ShutdownSignals() as ending:
        await ending.over(_life(opened, settings, systemd, ending, on_open, grace_s))


@asynccontextmanager
async def running_bot(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    *,
    on_ready: Callable[[], None] = lambda: None,
    grace_s: float = 0.0,
) -> AsyncIterator[asyncio.Task[None]]:
    """Run a bot during the block, beside whatever else this process does.

    The task is its connection to Discord, which ends early only if it fails.
    """
    assert settings.discord_token is not None
    async with (
        open_bot(settings, environ, on_ready=on_ready) as bot,
        _serving(bot, settings.discord_token) as serving,
        _beside(*_upkeep(bot)),
    ):
        yield serving
        await _finish(bot, grace_s)


async def _life(
    opened: AbstractAsyncContextManager[Bot],
    settings: LoadedSettings,
    systemd: SystemdNotifier,
    ending: ShutdownSignals,
    on_open: Callable[[Bot], None],
    grace_s: float,
) -> None:
    assert settings.discord_token is not None
    async with opened as bot:
        on_open(bot)
        async with (
            _beside(systemd.keep_alive()),
            _serving(bot, settings.discord_token) as serving,
            _beside(*_upkeep(bot)),
        ):
            with ending.listening(_longest_end_s(bot, grace_s)):
                await ending.or_done(serving)
                systemd.stopping()
                if not serving.done():
                    log.info("ending; a second Ctrl-C does not wait for running answers")
                    await ending.or_done(_finish(bot, grace_s))


def _longest_end_s(bot: Bot, grace_s: float) -> float:
    """Return how long the shards, the answers and their last messages may take to end."""
    handover_s = 0.0 if bot.shard_keeper is None else HANDOVER_SECONDS
    return handover_s + grace_s + LAST_SECONDS + REACTION_SECONDS


@asynccontextmanager
async def _serving(bot: Bot, token: str) -> AsyncIterator[asyncio.Task[None]]:
    """Serve during the block, then close the client. Raises what ended the serving early."""
    task = asyncio.create_task(bot.serve(token))
    try:
        yield task
    finally:
        ended_early = task.done()
        if bot.shard_keeper is not None:
            await bot.shard_keeper.leave(0)
        await bot.client.close()
        await _end(task)
    error = None if task.cancelled() else task.exception()
    if error is not None and ended_early:
        raise error
    if error is not None:
        log.debug("the client was closed while it was busy: %r", error)


@asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the work while the block runs, and cancel it at the end of the block."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            await _end(task)


def _upkeep(bot: Bot) -> tuple[Coroutine[Any, Any, None], ...]:
    """Return the tasks that a bot always runs besides answering."""
    return (
        bot.reloader.watch(),
        _take_over(bot),
        bot.orphaned_journals.run(),
        prune_regularly(bot.db),
        bot.data_retention.run(),
        bot.due_schedules.run(),
        bot.openings.run(),
    )


async def _finish(bot: Bot, grace_s: float) -> None:
    """Hand over the shards, and let running answers finish."""
    if bot.shard_keeper is not None:
        await bot.shard_keeper.leave()
    await bot.channel_turns.shutdown(grace_s)


async def _take_over(bot: Bot) -> None:
    """Answer messages that an ended process had claimed but not answered."""
    while True:
        await bot.shared.departure()
        try:
            await bot.client.look_back()
        except (OshaberiError, OSError) as error:
            log.error("messages that an ended process left could not be looked for: %s", error)


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
    runs_on: RunsOn = "discord",
    clock: Callable[[], datetime] = utc_now,
) -> AsyncIterator[Bot]:
    """Open database, coordination, tools, models and client; close them in reverse order."""
    CATALOGUES.use_folders((PACKAGED, settings.data_dir / "languages"))
    warnings, model_health = RecentWarnings(settings.secrets(environ)), ModelHealth()
    bot_metrics = BotMetrics(lambda: connected.client.latency)
    bot_metrics.process_gauges.watch(streams_silent=model_health.hanging)
    watching: tuple[StreamObserver, ...] = (StreamLogger(), bot_metrics, model_health, *observers)
    with warnings.listening(), requests_through(settings.discord_api_url):
        outage = ServiceOutage(
            rest_probe(settings.discord_token or ""), settings.discord_outage_patience_s
        )
        async with (
            open_stores(settings) as stores,
            open_services(
                settings, environ, stores, bot_metrics, watching, connect, outage, clock
            ) as opened,
        ):
            services, current_settings, faces = opened
            channel_turns = ChannelTurns.over(services, claim=stores.shared.claim)
            own_faces = OwnFaces(stores.db, faces, channel_turns.persona_cache.default_of)
            context = BotContext(
                stores.db, channel_turns, services, faces, own_faces, current_settings.operators
            )
            connected = ConnectedBot(
                settings, stores, context, current_settings, guild_ready_timeout, on_ready
            )
            client, shared = connected.client, stores.shared
            signs = OperatorSigns(bot_metrics, model_health, warnings, connected.problem, runs_on)
            async with (
                aclosing(own_faces),
                connected.watched(bot_metrics),
                operator_endpoint(settings, environ, context, client, shared, signs),
            ):
                await stores.db.opt_outs.refresh()
                yield Bot(
                    client,
                    channel_turns,
                    services,
                    stores.db,
                    shared,
                    bot_metrics,
                    current_settings.reloader,
                    connected.orphaned_journals,
                    DataRetention(
                        stores.db,
                        current_settings.operators,
                        client.server_ids,
                        client.would_have,
                        is_gone=partial(is_gone, client),
                    ),
                    connected.due_schedules,
                    connected.openings,
                    connected.keeper,
                )
