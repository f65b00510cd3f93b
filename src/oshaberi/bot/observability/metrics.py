"""Prometheus metrics of the bot: streams, requests to Discord, and what the process holds."""

from __future__ import annotations

import asyncio
import platform
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import product
from typing import get_args

import discord
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics import MetricWrapperBase

from oshaberi import __version__
from oshaberi.bot.storage.outages import CALLS, FAULTS, DatabaseMeter
from oshaberi.bot.turns.admission.rules import NO_QUESTION, WHY
from oshaberi.bot.turns.services.turn_services import AnswerTimes
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.clocks import loop_clock
from oshaberi.delivery.config import StreamConfig
from oshaberi.discord_io import BanGuard, RequestBudget, RequestMeter
from oshaberi.discord_io.histories import HISTORY_SOURCES
from oshaberi.discord_io.requests.guards import INVALID
from oshaberi.providers.presets import PRESETS
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.result import Status, StreamResult

# Requests to Discord: how long they take and wait, and refusals.


WAIT_BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
WEBHOOK_REFUSALS = ("30007", "50001", "50013")
"""Discord's codes for too many webhooks (15), no access, and a missing permission."""


def start_at_zero(metric: MetricWrapperBase, *values: Iterable[str]) -> None:
    """Create every combination of these labels' values."""
    for labels in product(*values):
        metric.labels(*labels)


class DiscordRequestMetrics:
    """The metrics. They stay empty until `watch` connects them to the client's requests."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry, buckets=WAIT_BUCKETS_S)
        self._answer = histogram(
            "oshaberi_discord_request_seconds",
            "How long Discord took to answer a request",
            ("kind", "status"),
        )
        self._wait = histogram(
            "oshaberi_discord_request_wait_seconds",
            "How long requests waited for the limit of 50 in a second",
        )
        self._webhook_refusals = counter(
            "oshaberi_webhook_refusals",
            "Channels in which Discord refused us a webhook, by Discord's code",
            ("code",),
        )
        self._invalid = counter(
            "oshaberi_discord_invalid_requests",
            "Requests that Discord refused with 401, 403 or 429",
            ("status",),
        )
        self._invalid_now = gauge(
            "oshaberi_discord_invalid_requests_in_window",
            "The same within the last ten minutes; Discord bans at 10 000",
        )
        self._slowdown = gauge(
            "oshaberi_discord_slowdown",
            "0 none, 1 without typing and reactions, 2 requests are spaced out",
        )
        start_at_zero(self._webhook_refusals, WEBHOOK_REFUSALS)
        start_at_zero(self._invalid, map(str, sorted(INVALID)))

    def watch(self, guard: BanGuard, budget: RequestBudget, meter: RequestMeter) -> None:
        """Count the requests of these objects from now on."""
        budget.on_waited = self._wait.observe
        meter.on_answer = self._note_answer
        meter.on_webhook_refusal = lambda code: self._webhook_refusals.labels(str(code)).inc()
        guard.on_invalid = lambda status: self._invalid.labels(str(status)).inc()
        self._invalid_now.set_function(lambda: guard.count)
        self._slowdown.set_function(lambda: guard.slowdown)

    def _note_answer(self, kind: str, status: int, seconds: float) -> None:
        """Count an answer of Discord. Without one the status is `none`."""
        self._answer.labels(kind, str(status) if status else "none").observe(seconds)


# Gauges of a process: running turns, shards, waiting requests, memory, the event loop's lag.


LAG_SECONDS = 0.25
"""The pause between two measurements of the loop's lag."""
LAGS_KEPT = 240
"""The longest lag of the last minute is reported, so that a scrape sees everything since the
last."""

GAUGES = {
    "oshaberi_turns_running": "Turns under way",
    "oshaberi_turns_waiting": "Questions that wait for the turn before them or for a slot",
    "oshaberi_shards": "Shards of this process",
    "oshaberi_shards_connected": "Shards that are connected to Discord",
    "oshaberi_discord_requests_waiting": "Requests that wait for the limit of 50 in a second",
    "oshaberi_streams_silent": "Streams whose model has sent nothing for 30 seconds",
    "oshaberi_database_entries_kept": "Entries that wait in memory for a database that is away",
    "oshaberi_discord_away": "1 while Discord's REST API does not answer",
    "oshaberi_database_away": "1 while the database cannot be used",
    "oshaberi_redis_away": "1 while Redis cannot be used",
}


class ProcessGauges:
    """The gauges of a registry. Each is 0 until `watch` gives it a source."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauges = {name: Gauge(name, text, registry=registry) for name, text in GAUGES.items()}
        self._lag = Gauge(
            "oshaberi_loop_lag_seconds",
            "How late the event loop ran a timer in the last minute, at most",
            registry=registry,
        )
        self._lags: deque[float] = deque(maxlen=LAGS_KEPT)
        built = Gauge(
            "oshaberi_build_info",
            "Always 1: which versions run",
            ("version", "python", "discord_py"),
            registry=registry,
        )
        built.labels(__version__, platform.python_version(), discord.__version__).set(1)
        ProcessCollector(registry=registry)  # memory and descriptors, on Linux

    def watch(self, **sources: Callable[[], float]) -> None:
        """Read gauges from these functions, by their names without `oshaberi_`."""
        for name, source in sources.items():
            self._gauges[f"oshaberi_{name}"].set_function(source)

    @asynccontextmanager
    async def measuring_lag(self) -> AsyncIterator[None]:
        """Measure the loop's lag until the end of the block."""
        task = asyncio.create_task(self._measure(), name="loop lag")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _measure(self) -> None:
        now_s = loop_clock()
        while True:
            due_s = now_s() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self._lags.append(max(0.0, now_s() - due_s))
            self._lag.set(max(self._lags))


# All metrics. A counter whose label set first appears with the value 1 has not increased as far as
# Prometheus can tell, so an alert would miss the first event. Label sets that are known are
# therefore there from the start, with 0.


disable_created_metrics()  # type: ignore[no-untyped-call]
"""Nobody needs the creation times of counters, which would be every second line."""

ERROR_TYPES: tuple[str, ...] = get_args(ErrorType)
STATUSES: tuple[str, ...] = get_args(Status)
WAYS = ("in", "out", "cached")
ANSWER_BUCKETS_S = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)


class BotMetrics:
    """The metrics of a process. `latency_s` returns the gateway's latency."""

    def __init__(self, latency_s: Callable[[], float] = lambda: 0.0) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        answer_times = partial(histogram, buckets=ANSWER_BUCKETS_S)
        self.streams = counter("oshaberi_streams", "Streams that ended", ("status",))
        self.running = gauge("oshaberi_streams_running", "Streams under way")
        self.messages = counter("oshaberi_messages_sent", "Messages sent")
        self.undelivered = counter(
            "oshaberi_undelivered_characters", "Characters that did not reach their channel"
        )
        self.provider_errors = counter(
            "oshaberi_provider_errors", "Errors of models", ("provider", "type")
        )
        self.tokens = counter("oshaberi_tokens", "Tokens", ("provider", "model", "way"))
        self.first_token = answer_times(
            "oshaberi_first_token_seconds",
            "From the question to the model's first words or thoughts",
        )
        self.first_message = answer_times(
            "oshaberi_first_message_seconds", "From the question to the first visible message"
        )
        self.channel_wait = answer_times(
            "oshaberi_channel_wait_seconds", "How long messages waited for a limit of Discord"
        )
        self.unanswered = counter(
            "oshaberi_questions_unanswered",
            "Questions to the bot for which no turn began",
            ("reason",),
        )
        self.history_reads = counter(
            "oshaberi_history_reads", "Histories of channels that turns have read", ("source",)
        )
        self.database_call = histogram(
            "oshaberi_database_call_seconds",
            "How long calls and commits of the database took",
            ("kind",),
            buckets=WAIT_BUCKETS_S,
        )
        self.database_faults = counter(
            "oshaberi_database_faults", "Calls and commits that failed", ("kind",)
        )
        gauge("oshaberi_start_time_seconds", "When the process began").set(time.time())
        latency = gauge("oshaberi_gateway_latency_seconds", "Time of a heartbeat to Discord")
        latency.set_function(latency_s)
        self.discord_requests = DiscordRequestMetrics(self.registry)
        self.process_gauges = ProcessGauges(self.registry)
        start_at_zero(self.streams, STATUSES)
        start_at_zero(self.unanswered, WHY.keys() - NO_QUESTION)
        start_at_zero(self.history_reads, HISTORY_SOURCES)
        start_at_zero(self.database_call, CALLS)
        start_at_zero(self.database_faults, FAULTS)
        start_at_zero(self.provider_errors, PRESETS, ERROR_TYPES)

    def expect_model(self, provider: str, model: str) -> None:
        """Start the counters of a model at 0, before it is asked for the first time."""
        start_at_zero(self.provider_errors, [provider], ERROR_TYPES)
        start_at_zero(self.tokens, [provider], [model], WAYS)

    def note_unanswered(self, reason: str) -> None:
        """Count a message that is not answered, unless nobody addressed the bot."""
        if reason not in NO_QUESTION:
            self.unanswered.labels(reason).inc()

    def note_history(self, source: str) -> None:
        """Count a history that a turn has read from this source."""
        self.history_reads.labels(source).inc()

    def database_meter(self) -> DatabaseMeter:
        """Return a meter that counts the calls and faults of a database."""
        meter = DatabaseMeter()
        meter.on_call = lambda kind, seconds: self.database_call.labels(kind).observe(seconds)
        meter.on_fault = lambda kind: self.database_faults.labels(kind).inc()
        return meter

    def note_answer(self, times: AnswerTimes) -> None:
        """Count how long somebody waited for an answer."""
        if times.first_token_s is not None:
            self.first_token.observe(times.first_token_s)
        if times.first_message_s is not None:
            self.first_message.observe(times.first_message_s)
        for seconds in times.limit_waits_s:
            self.channel_wait.observe(seconds)

    def opened(
        self, provider: Provider, _config: StreamConfig, _context: StreamContext
    ) -> Provider:
        self.running.inc()
        self.expect_model(provider.name, provider.model)
        return provider

    def ended(self, _context: StreamContext, result: StreamResult) -> None:
        self.running.dec()
        self.streams.labels(result.status).inc()
        self.messages.inc(result.metrics.messages)
        self.undelivered.inc(len(result.undelivered))
        provider, model = result.thought_log.provider or "", result.thought_log.model or ""
        if isinstance(result.data, ProviderError):
            self.provider_errors.labels(result.data.provider or provider, result.data.type).inc()
        if result.usage is not None:
            self.tokens.labels(provider, model, "in").inc(result.usage.input_tokens)
            self.tokens.labels(provider, model, "out").inc(result.usage.output_tokens)
            self.tokens.labels(provider, model, "cached").inc(result.usage.cached_tokens)

    def text(self) -> bytes:
        return generate_latest(self.registry)
