"""Prometheus metrics of the bot. Observes every stream."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from oshaberi.bot.observability.process_gauges import ProcessGauges
from oshaberi.chunks import ProviderError
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.discord_io import BanGuard, RequestBudget, RequestMeter
from oshaberi.storage.outages.database_circuit_breaker import DatabaseMeter
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult
from oshaberi.turns.post_turn.answer_times import AnswerTimes

WAIT_BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
ANSWER_BUCKETS_S = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)

NO_QUESTION = frozenset(
    {"own", "bot", "unaddressed", "others", "inattentive", "uninvited"}
    | {"copy", "replaced", "withdrawn", "claimed", "seen"}
)
"""Reasons of messages that are not for the bot, or that another process or turn has taken."""


class BotMetrics:
    """The metrics of a process. `latency_s` returns the gateway's latency."""

    def __init__(self, latency_s: Callable[[], float] = lambda: 0.0) -> None:
        self.registry = CollectorRegistry()
        self.streams = Counter(
            "oshaberi_streams", "Streams that ended", ("status",), registry=self.registry
        )
        self.running = Gauge(
            "oshaberi_streams_running", "Streams under way", registry=self.registry
        )
        self.messages = Counter("oshaberi_messages_sent", "Messages sent", registry=self.registry)
        self.undelivered = Counter(
            "oshaberi_undelivered_characters",
            "Characters that did not reach their channel",
            registry=self.registry,
        )
        self.provider_errors = Counter(
            "oshaberi_provider_errors",
            "Errors of models",
            ("provider", "type"),
            registry=self.registry,
        )
        self.tokens = Counter(
            "oshaberi_tokens", "Tokens", ("provider", "model", "way"), registry=self.registry
        )
        self.first_token = Histogram(
            "oshaberi_first_token_seconds",
            "From the question to the model's first words or thoughts",
            buckets=ANSWER_BUCKETS_S,
            registry=self.registry,
        )
        self.first_message = Histogram(
            "oshaberi_first_message_seconds",
            "From the question to the first visible message",
            buckets=ANSWER_BUCKETS_S,
            registry=self.registry,
        )
        self.discord_request = Histogram(
            "oshaberi_discord_request_seconds",
            "How long Discord took to answer a request",
            ("kind", "status"),
            buckets=WAIT_BUCKETS_S,
            registry=self.registry,
        )
        self.channel_wait = Histogram(
            "oshaberi_channel_wait_seconds",
            "How long messages waited for a limit of Discord",
            buckets=ANSWER_BUCKETS_S,
            registry=self.registry,
        )
        self.webhook_refusals = Counter(
            "oshaberi_webhook_refusals",
            "Channels in which Discord refused us a webhook, by Discord's code",
            ("code",),
            registry=self.registry,
        )
        started = Gauge(
            "oshaberi_start_time_seconds", "When the process began", registry=self.registry
        )
        started.set(time.time())
        latency = Gauge(
            "oshaberi_gateway_latency_seconds",
            "Time of a heartbeat to Discord",
            registry=self.registry,
        )
        latency.set_function(latency_s)
        self.invalid = Counter(
            "oshaberi_discord_invalid_requests",
            "Requests that Discord refused with 401, 403 or 429",
            ("status",),
            registry=self.registry,
        )
        self.invalid_now = Gauge(
            "oshaberi_discord_invalid_requests_in_window",
            "The same within the last ten minutes; Discord bans at 10 000",
            registry=self.registry,
        )
        self.slowdown = Gauge(
            "oshaberi_discord_slowdown",
            "0 none, 1 without typing and reactions, 2 requests are spaced out",
            registry=self.registry,
        )

        self.unanswered = Counter(
            "oshaberi_questions_unanswered",
            "Questions to the bot for which no turn began",
            ("reason",),
            registry=self.registry,
        )
        self.request_wait = Histogram(
            "oshaberi_discord_request_wait_seconds",
            "How long requests waited for the limit of 50 in a second",
            buckets=WAIT_BUCKETS_S,
            registry=self.registry,
        )
        self.database_call = Histogram(
            "oshaberi_database_call_seconds",
            "How long calls and commits of the database took",
            ("kind",),
            buckets=WAIT_BUCKETS_S,
            registry=self.registry,
        )
        self.database_faults = Counter(
            "oshaberi_database_faults",
            "Calls and commits that failed",
            ("kind",),
            registry=self.registry,
        )
        self.process_gauges = ProcessGauges(self.registry)

    def note_unanswered(self, reason: str) -> None:
        """Count a message that is not answered, unless nobody asked the bot here."""
        if reason not in NO_QUESTION:
            self.unanswered.labels(reason).inc()

    def database_meter(self) -> DatabaseMeter:
        """Return what counts the calls and faults of a database."""
        meter = DatabaseMeter()
        meter.on_call = lambda kind, seconds: self.database_call.labels(kind).observe(seconds)
        meter.on_fault = lambda kind: self.database_faults.labels(kind).inc()
        return meter

    def _note_discord_answer(self, kind: str, status: int, seconds: float) -> None:
        """Count an answer of Discord. Without one the status is `none`."""
        self.discord_request.labels(kind, str(status) if status else "none").observe(seconds)

    def note_answer(self, times: AnswerTimes) -> None:
        """Count how long somebody waited for an answer."""
        if times.first_token_s is not None:
            self.first_token.observe(times.first_token_s)
        if times.first_message_s is not None:
            self.first_message.observe(times.first_message_s)
        for seconds in times.limit_waits_s:
            self.channel_wait.observe(seconds)

    def watch(self, guard: BanGuard, budget: RequestBudget, meter: RequestMeter) -> None:
        """Report what becomes of the requests to Discord."""
        budget.on_waited = self.request_wait.observe
        meter.on_answer = self._note_discord_answer
        meter.on_webhook_refusal = lambda code: self.webhook_refusals.labels(str(code)).inc()
        guard.on_invalid = lambda status: self.invalid.labels(str(status)).inc()
        self.invalid_now.set_function(lambda: guard.count)
        self.slowdown.set_function(lambda: guard.slowdown)

    def opened(
        self, provider: Provider, _config: StreamConfig, _context: StreamContext
    ) -> Provider:
        self.running.inc()
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

    def text(self) -> bytes:
        return generate_latest(self.registry)
