"""Everything that the status page shows, as JSON."""

from __future__ import annotations

import asyncio
import heapq
import math
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import discord

from oshaberi import __version__
from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.config.loaded import DEFAULT
from oshaberi.bot.conversation.transcript import plain_words
from oshaberi.bot.logs import LoggedWarning, RecentWarnings
from oshaberi.bot.observability.health import HealthChecks, ModelHealth, RunningStream
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import KeyRecord, UsageRecord
from oshaberi.bot.storage.usage import UsageTotals, usage_day
from oshaberi.bot.tools.choice import approver_of, is_offered_by
from oshaberi.bot.turns.admission.channel_queue import BusyChannel
from oshaberi.bot.turns.admission.rules import why_sentence
from oshaberi.bot.turns.services.model_access import OperatorModel, place_of_model
from oshaberi.chunks import Usage
from oshaberi.clocks import loop_time_s

# How much models and servers used: today, in the last 30 days, and in total. Cached for 30 seconds.


LATELY_DAYS = 30
FRESH_SECONDS = 30.0
"""How long a result is reused, so that many visitors cause only one query."""


@dataclass(frozen=True, slots=True)
class UsageOverview:
    by_model: tuple[UsageRecord, ...]
    """Usage by model since the beginning, in all servers together."""
    today: Mapping[int, UsageTotals]
    """Usage by server, with any key; 0 is direct messages."""
    lately: Mapping[int, UsageTotals]
    paid_today: UsageTotals
    """Usage with the operator's keys."""
    paid_lately: UsageTotals

    def servers(self) -> list[int]:
        """Return the servers, starting with the most active of the last 30 days."""
        return sorted(self.lately, key=lambda one: (-self.lately[one].tokens, one))


class UsageReader:
    """Reads the overview. Simultaneous callers share one query."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._last: tuple[float, date, UsageOverview] | None = None
        self._reading = asyncio.Lock()

    async def read(self, today: date) -> UsageOverview:
        """Return the overview. Raises StorageError if the database cannot be read."""
        async with self._reading:
            now_s = loop_time_s()
            if self._last is not None:
                read_s, day, overview = self._last
                if day == today and now_s - read_s < FRESH_SECONDS:
                    return overview
            overview = await self._read(today)
            self._last = now_s, today, overview
            return overview

    async def _read(self, today: date) -> UsageOverview:
        counts, since = self._db.usage_counts, today - timedelta(LATELY_DAYS - 1)
        paid_today = await counts.by_server("operator", today, today)
        paid_lately = await counts.by_server("operator", since, today)
        return UsageOverview(
            await self._db.usage.by_model(),
            await counts.by_server("server", today, today),
            await counts.by_server("server", since, today),
            total_of(paid_today),
            total_of(paid_lately),
        )


def total_of(used: Mapping[int, UsageTotals]) -> UsageTotals:
    """Return the sum of what all servers used."""
    every = used.values()
    return UsageTotals(
        sum(one.requests for one in every),
        sum(one.input_tokens for one in every),
        sum(one.output_tokens for one in every),
        sum(one.cost_micros for one in every),
        sum(one.cached_tokens for one in every),
    )


# The whole report. Its figures are those of `/health`, `/metrics`, `/status`, `/usage` and
# `oshaberi config show`.


MOST_SERVERS = 25
MOST_BUSY = 50
MOST_TO_CHOOSE = 200
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StatusSources:
    """Where the figures come from."""

    context: BotContext
    client: OshaberiClient
    checks: HealthChecks
    bot_metrics: BotMetrics
    model_health: ModelHealth
    warnings: RecentWarnings
    usage: UsageReader
    environ: Mapping[str, str]
    instance: str


async def status_report(sources: StatusSources) -> Json:
    """Return the report. While the database is down, it lacks the usage."""
    problem, used = None, None
    try:
        used = await sources.usage.read(usage_day(sources.context.services.clock()))
    except StorageError as error:
        problem = str(error)
    return {
        "process": _process(sources),
        "health": _health(sources.checks),
        "turns": _turns(sources),
        "models": _models(sources, used),
        "usage": None if used is None else _usage(used),
        "usage_problem": problem,
        "servers": [] if used is None else _servers(sources.client, used),
        "warnings": [_warning(sources.client, one) for one in sources.warnings.newest_first()],
        "tools": _tools(sources.context),
        "tool_servers": _servers_to_choose(sources.client, used),
        "settings": _settings(sources),
    }


def _process(sources: StatusSources) -> Json:
    client, metric = sources.client, sources.bot_metrics.registry.get_sample_value
    latency_s = client.latency
    return {
        "version": __version__,
        "python": platform.python_version(),
        "instance": sources.instance,
        "bot": None if client.user is None else str(client.user),
        "started": metric("oshaberi_start_time_seconds"),
        "servers": len(client.guilds),
        "shards": metric("oshaberi_shards"),
        "shards_connected": metric("oshaberi_shards_connected"),
        "latency_ms": round(latency_s * 1000) if math.isfinite(latency_s) else None,
        "loop_lag_ms": round((metric("oshaberi_loop_lag_seconds") or 0) * 1000),
        "memory_mb": round((metric("process_resident_memory_bytes") or 0) / 2**20) or None,
        "peak_memory_mb": round(_peak_memory_mb()),
        "open_files": metric("process_open_fds"),
        "most_open_files": metric("process_max_fds"),
        "kept_entries": metric("oshaberi_database_entries_kept"),
        "slowdown": metric("oshaberi_discord_slowdown"),
    }


def _peak_memory_mb() -> float:
    """Return the peak memory of the process. Linux counts in kibibytes, macOS in bytes."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _health(checks: HealthChecks) -> Json:
    return {**checks.report(), "ready": checks.unready() or "ok"}


def _turns(sources: StatusSources) -> Json:
    metric = sources.bot_metrics.registry.get_sample_value
    busy = sources.context.channel_turns.busy_channels()
    streams = {one.channel: one for one in sources.model_health.running()}
    return {
        "running": metric("oshaberi_turns_running"),
        "waiting": metric("oshaberi_turns_waiting"),
        "most": sources.context.settings().max_simultaneous_turns,
        "first_token_s": _mean(metric, "oshaberi_first_token_seconds"),
        "first_message_s": _mean(metric, "oshaberi_first_message_seconds"),
        "answers": metric("oshaberi_first_message_seconds_count"),
        "busy": [
            _busy(sources.client, one, streams.get(str(one.channel_id))) for one in busy[:MOST_BUSY]
        ],
        "more_busy": max(0, len(busy) - MOST_BUSY),
    }


def _mean(metric: Callable[[str], float | None], name: str) -> float | None:
    count = metric(f"{name}_count")
    return (metric(f"{name}_sum") or 0) / count if count else None


def _busy(client: discord.Client, one: BusyChannel, stream: RunningStream | None) -> Json:
    return {
        "server": _server(client, one.server_id),
        "channel": _channel(client, one.channel_id),
        "user": str(one.user_id),
        "why": why_sentence(one.why) or one.why,
        "seconds": None if one.seconds is None else round(one.seconds, 1),
        "waiting": one.waiting,
        "is_gathering": one.is_gathering,
        "stream": None
        if stream is None
        else {
            "provider": stream.provider,
            "model": stream.model,
            "seconds": round(stream.seconds, 1),
            "silent_s": round(stream.silent_s, 1),
            "hangs": stream.hangs,
            "messages": stream.messages,
        },
    }


def _server(client: discord.Client, server_id: int) -> Json:
    guild = client.get_guild(server_id) if server_id else None
    name = (
        "direct messages" if not server_id else None if guild is None else plain_words(guild.name)
    )
    return {"id": str(server_id), "name": name}


def _channel(client: discord.Client, channel_id: int) -> Json:
    channel = client.get_channel(channel_id)
    name = getattr(channel, "name", None)
    return {"id": str(channel_id), "name": None if name is None else plain_words(name)}


def _models(sources: StatusSources, used: UsageOverview | None) -> list[Json]:
    """List the operator's models in order, then those that servers have chosen."""
    services = sources.context.services
    by_name = {(one.provider, one.model): one for one in (used.by_model if used else ())}
    yours = {
        (link.model.provider, link.model.model): link for link in services.models.operator.models
    }
    failing = sources.model_health.failing()
    names = dict.fromkeys([*yours, *failing, *by_name])
    return [
        {
            "provider": provider,
            "model": model,
            "yours": (provider, model) in yours,
            "problem": failing.get((provider, model)),
            "refused": _refused(sources.context, yours.get((provider, model))),
            "keys": _keys(sources.context, yours.get((provider, model))),
            "used": _model_use(by_name.get((provider, model)), yours.get((provider, model))),
        }
        for provider, model in names
    ]


def _refused(context: BotContext, link: OperatorModel | None) -> list[str]:
    """List the parameters and tools that the operator's model refused. They are not sent."""
    if link is None:
        return []
    return list(context.services.models.adapters.learned.told(place_of_model(link.model)))


def _keys(context: BotContext, link: OperatorModel | None) -> list[Json]:
    """Describe the operator's keys for a model. The keys of servers are not shown."""
    if link is None:
        return []
    keys = [KeyRecord(0, link.model.provider, secret) for secret in link.keys]
    ends = [context.cooldown_end(key) for key in keys]
    return [{"paused_until": None if end is None else end.timestamp()} for end in ends]


def _model_use(record: UsageRecord | None, link: OperatorModel | None) -> Json | None:
    if record is None:
        return None
    price = None if link is None else link.price
    used = Usage(record.input_tokens, record.output_tokens, record.cached_tokens)
    totals = UsageTotals(
        record.requests, record.input_tokens, record.output_tokens, 0, record.cached_tokens
    )
    return _totals(totals) | {"cost_micros": None if price is None else price.micros(used)}


def _usage(used: UsageOverview) -> Json:
    return {"today": _totals(used.paid_today), "lately": _totals(used.paid_lately)}


def _servers(client: discord.Client, used: UsageOverview) -> list[Json]:
    nothing = UsageTotals()
    return [
        {
            **_server(client, server_id),
            "today": _totals(used.today.get(server_id, nothing)),
            "lately": _totals(used.lately[server_id]),
        }
        for server_id in used.servers()[:MOST_SERVERS]
    ]


def _servers_to_choose(client: discord.Client, used: UsageOverview | None) -> list[Json]:
    """List the servers of this process whose tools can be switched, the most active first."""
    lately = {} if used is None else used.lately
    ids = [one.id for one in client.guilds]
    tokens = {one: lately[one].tokens if one in lately else 0 for one in ids}
    chosen = heapq.nsmallest(MOST_TO_CHOOSE, tokens, key=lambda one: (-tokens[one], one))
    return [_server(client, one) for one in chosen]


def _totals(totals: UsageTotals) -> Json:
    return {
        "requests": totals.requests,
        "input_tokens": totals.input_tokens,
        "output_tokens": totals.output_tokens,
        "cached_tokens": totals.cached_tokens,
        "cost_micros": totals.cost_micros,
    }


def _warning(client: discord.Client, one: LoggedWarning) -> Json:
    server_id, channel_id = one.ids.get("server"), one.ids.get("channel")
    return {
        "at": one.at.timestamp(),
        "level": one.level,
        "part": one.part,
        "text": one.text,
        "server": None if server_id is None else _server(client, int(server_id)),
        "channel": None if channel_id is None else _channel(client, int(channel_id)),
        "user": one.ids.get("user"),
        "turn": one.ids.get("turn"),
    }


def _tools(context: BotContext) -> list[Json]:
    """List all tools and what the operator's settings say about them.

    Servers may limit them further.
    """
    turn = context.settings().turn
    return [
        {
            "name": name,
            "source": one.source,
            "permission": one.permission,
            "asks": approver_of(name, one, turn),
            "offered": is_offered_by(turn, name, one),
        }
        for name, one in context.services.answer_tools.tools.all_tools().items()
    ]


def _settings(sources: StatusSources) -> list[Json]:
    """List the settings in force, those that somebody has set first."""
    shown = sources.context.settings().display_all(sources.environ)
    rows = [{"name": name, **one} for name, one in shown.items()]
    return sorted(rows, key=lambda one: one["from"] == DEFAULT)
