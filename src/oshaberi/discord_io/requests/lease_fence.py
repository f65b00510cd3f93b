"""Holds back all requests of a process that may no longer speak for the bot.

A process that shares the shards with others may send only while its lease is valid. The clock also
runs while the machine sleeps, so a process that was suspended for a minute finds the fence closed
before it sends its next request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace

import aiohttp

POLL_SECONDS = 0.05


def time_since_boot() -> float:
    """Return the seconds since boot, including sleep where the system can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class LeaseFence:
    """Open until `close_at`, which the shard keeper moves forward; without it, always open."""

    def __init__(self, now_s: Callable[[], float] = time_since_boot) -> None:
        self.now_s = now_s
        self.close_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self.close_at is None or self.now_s() < self.close_at

    async def passed(self) -> None:
        """Wait until the fence is open."""
        while not self.is_open:
            await asyncio.sleep(POLL_SECONDS)

    def guard(self, trace: aiohttp.TraceConfig) -> aiohttp.TraceConfig:
        """Make every request of a session wait at the fence, right before it is sent."""

        async def wait(
            _session: aiohttp.ClientSession, _ctx: SimpleNamespace, _params: object
        ) -> None:
            await self.passed()

        trace.on_connection_create_end.append(wait)
        trace.on_connection_reuseconn.append(wait)
        return trace
