"""Gauges of a process: running turns, shards, waiting requests, memory, the event loop's lag."""

from __future__ import annotations

import asyncio
import platform
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import discord
from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

from oshaberi import __version__

LAG_SECONDS = 0.25
"""The pause between two measurements of the loop's lag."""
LAGS_KEPT = 240
"""The longest lag of the last minute is told: a scrape sees what happened since the one before."""

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
        now_s = asyncio.get_running_loop().time
        while True:
            due_s = now_s() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self._lags.append(max(0.0, now_s() - due_s))
            self._lag.set(max(self._lags))
