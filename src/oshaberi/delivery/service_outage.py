"""Knows whether the service behind the sinks (Discord) is down, or only one request fails.

One failed request says little: a route may be broken, or a channel. So after a failure without a
later answer, a probe asks for something else. If that fails too, the service is away: nothing
more is sent, and everybody waits, until a probe or any other request is answered. `exactly_once`
lets messages wait, and the turns let questions wait.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextvars import Context

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import SinkAwayError

log = logging.getLogger(__name__)

DOUBT_SECONDS = 3.0
"""How long after a failure the service gets a probe, if it has answered nothing since."""
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 2.0, 15.0
"""The pauses between two probes."""
PATIENCE_SECONDS = 3600.0

Probe = Callable[[], Awaitable[str | None]]
"""Asks the service for something simple. Returns why it did not answer; None if it did."""


class ServiceOutage:
    """The outages of one service.

    Report each request with `answered` or `failed`. Answers that an outage holds up are kept for
    `patience_s` seconds.
    """

    def __init__(self, probe: Probe, patience_s: float = PATIENCE_SECONDS) -> None:
        self.patience_s = patience_s
        self.count = 0
        """Outages since the start."""
        self._probe = probe
        self._reason: str | None = None
        """Why requests fail; None while they are answered."""
        self._away_since: float | None = None
        self._last: tuple[float, float] = (0.0, 0.0)
        """When the last outage began and ended (loop time)."""
        self._answered = asyncio.Event()
        self._answered.set()
        self._probing: asyncio.Task[None] | None = None

    @property
    def is_away(self) -> bool:
        return self._away_since is not None

    def problem(self) -> str | None:
        """Describe the outage; None if there is none."""
        if self._away_since is None:
            return None
        seconds = loop_time_s() - self._away_since
        return f"no answers for {seconds:.0f} s ({self._reason})"

    def check(self) -> None:
        """Raise SinkAwayError during an outage: a request would be in vain."""
        if self._away_since is not None:
            raise SinkAwayError(f"Discord is away: {self._reason}", self.patience_s)

    def answered(self) -> None:
        """Note that a request was answered, whatever the answer was."""
        if self._reason is None:
            return
        self._reason = None
        if self._away_since is not None:
            now = loop_time_s()
            self._last, self._away_since = (self._away_since, now), None
            log.warning("Discord answers again, after %.0f seconds", now - self._last[0])
        self._answered.set()

    def failed(self, reason: str) -> None:
        """Note that a request was not answered, or by an error of the service itself."""
        self._reason = reason
        self._answered.clear()
        if self._probing is None:
            # An outage concerns everybody, so its log lines have no turn's ids.
            self._probing = asyncio.create_task(
                self._find_out(), name="probing Discord", context=Context()
            )

    async def resolved(self) -> None:
        """Wait until the service answers. Return at once if there is no doubt about it."""
        await self._answered.wait()

    def seconds_since(self, moment: float) -> float:
        """Return for how many seconds after that moment (loop time) the last outage lasted."""
        began, ended = self._last
        if self._away_since is not None:
            began, ended = self._away_since, loop_time_s()
        return max(0.0, ended - max(began, moment))

    async def close(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait({self._probing})

    async def _find_out(self) -> None:
        """Probe until something is answered."""
        pause_s = FIRST_PAUSE_SECONDS
        try:
            await self._quiet(DOUBT_SECONDS)
            while self._reason is not None:
                reason = await self._probe()
                if reason is None:
                    self.answered()
                    return
                self._note_away(reason)
                await self._quiet(pause_s * random.uniform(0.75, 1.0))
                pause_s = min(pause_s * 1.5, LAST_PAUSE_SECONDS)
        finally:
            self._probing = None
            self._answered.set()

    async def _quiet(self, seconds: float) -> None:
        """Wait for this time, or until a request is answered."""
        try:
            async with asyncio.timeout(seconds):
                await self._answered.wait()
        except TimeoutError:
            pass

    def _note_away(self, reason: str) -> None:
        if self._reason is not None and self._away_since is None:
            self.count += 1
            self._away_since = loop_time_s()
            log.warning("Discord is away: %s; answers and questions are kept", reason)
        self._reason = self._reason and reason
