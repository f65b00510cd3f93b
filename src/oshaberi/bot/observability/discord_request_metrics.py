"""Prometheus metrics of the requests to Discord: how long they take and wait, and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from oshaberi.discord_io import BanGuard, RequestBudget, RequestMeter
from oshaberi.discord_io.requests.ban_guard import INVALID

WAIT_BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
WEBHOOK_REFUSALS = ("30007", "50001", "50013")
"""Discord's codes: 15 webhooks are there already, no access, a missing permission."""


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
