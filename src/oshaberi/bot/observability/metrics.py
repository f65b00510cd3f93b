"""Prometheus metrics of the bot. Observes every stream."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from oshaberi.chunks import ProviderError
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.discord_io import BanGuard
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult

FIRST_MESSAGE_BUCKETS_S = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)


class BotMetrics:
    """One per process. `latency_s` asks the gateway how far away Discord is."""

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
        self.first_message = Histogram(
            "oshaberi_first_message_seconds",
            "From the question to the first visible message",
            buckets=FIRST_MESSAGE_BUCKETS_S,
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

    def watch(self, guard: BanGuard) -> None:
        """How far the bot is from a ban."""
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
        if result.metrics.first_message_ms is not None:
            self.first_message.observe(result.metrics.first_message_ms / 1000)
        provider, model = result.thought_log.provider or "", result.thought_log.model or ""
        if isinstance(result.data, ProviderError):
            self.provider_errors.labels(result.data.provider or provider, result.data.type).inc()
        if result.usage is not None:
            self.tokens.labels(provider, model, "in").inc(result.usage.input_tokens)
            self.tokens.labels(provider, model, "out").inc(result.usage.output_tokens)

    def text(self) -> bytes:
        return generate_latest(self.registry)
