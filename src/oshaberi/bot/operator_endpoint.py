"""Serves health, metrics and the status page over HTTP. Off without `health_port`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.coordination.message_claims import ProcessCoordination
from oshaberi.bot.logs import RecentWarnings
from oshaberi.bot.observability.health import (
    Check,
    HealthChecks,
    ModelHealth,
    RunsOn,
    health_endpoint,
)
from oshaberi.bot.observability.metrics import BotMetrics

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OperatorSigns:
    """What a process reports about itself."""

    bot_metrics: BotMetrics
    model_health: ModelHealth
    warnings: RecentWarnings
    unready: Check
    """Returns why the bot takes no new questions now."""
    runs_on: RunsOn = "discord"


@asynccontextmanager
async def operator_endpoint(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    context: BotContext,
    client: OshaberiClient,
    shared: ProcessCoordination,
    signs: OperatorSigns,
) -> AsyncIterator[None]:
    """Serve until the end of the block."""
    if not settings.health_port:
        yield
        return
    # Imported here: a bot without this endpoint needs 3 MB less.
    from oshaberi.bot.status_page.report import StatusSources, UsageReader, status_report
    from oshaberi.bot.status_page.routes import StatusPage
    from oshaberi.bot.status_page.tool_switches import ToolSwitches

    parts: dict[str, Check] = {
        "discord": partial(_rest_problem, client),
        "database": context.db.problem,
        "models": signs.model_health.problem,
    }
    if settings.redis_url is not None:
        parts["redis"] = lambda: shared.problem
    checks = HealthChecks(client.gateway_state.problem, signs.unready, parts, signs.runs_on)
    sources = StatusSources(
        context,
        client,
        checks,
        signs.bot_metrics,
        signs.model_health,
        signs.warnings,
        UsageReader(context.db),
        environ,
        settings.instance,
    )
    tools = ToolSwitches(context, client)
    report = partial(status_report, sources)
    page = StatusPage(settings.status_token, report, tools.read, tools.switch)
    place = settings.health_port, settings.health_host
    async with health_endpoint(signs.bot_metrics, checks, *place, more=page.add_to) as url:
        is_on = settings.status_token is not None
        log.info("health and metrics: %s%s", url, "; the status page: /" if is_on else "")
        yield


def _rest_problem(client: OshaberiClient) -> str | None:
    """Return the problem with requests to Discord. The part `gateway` is about events."""
    problem = None if client.outage is None else client.outage.problem()
    return None if problem is None else f"REST: {problem}"
