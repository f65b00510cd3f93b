"""Prometheus metrics of the bot. Observes every stream.

A counter whose label set first appears with the value 1 has not increased as far as Prometheus can
tell, so an alert would miss the first event. Label sets that are known are therefore there from
the start, with 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from oshaberi.bot.observability.discord_request_metrics import (
    WAIT_BUCKETS_S,
    DiscordRequestMetrics,
    start_at_zero,
)
from oshaberi.bot.observability.process_gauges import ProcessGauges
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.discord_io.received_histories import HISTORY_SOURCES
from oshaberi.providers.provider_presets import PRESETS
from oshaberi.storage.outages.database_circuit_breaker import CALLS, FAULTS, DatabaseMeter
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import Status, StreamResult
from oshaberi.turns.admission.answer_reasons import NO_QUESTION, WHY
from oshaberi.turns.answer_times import AnswerTimes

disable_created_metrics()  # type: ignore[no-untyped-call]
"""When a counter was made is of no use to anybody, and would be every second line."""

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
        """Let the counters of a model start at 0, before it is asked for the first time."""
        start_at_zero(self.provider_errors, [provider], ERROR_TYPES)
        start_at_zero(self.tokens, [provider], [model], WAYS)

    def note_unanswered(self, reason: str) -> None:
        """Count a message that is not answered, except where nobody addressed the bot."""
        if reason not in NO_QUESTION:
            self.unanswered.labels(reason).inc()

    def note_history(self, source: str) -> None:
        """Count a history that a turn has read from there."""
        self.history_reads.labels(source).inc()

    def database_meter(self) -> DatabaseMeter:
        """Return what counts the calls and faults of a database."""
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
