"""The state that all parts of a running stage share: world, clock, settings, listeners."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from discord_stage.errors import StageError
from discord_stage.payloads.attachment_urls import AttachmentUrls
from discord_stage.requests.injected_faults import Faults
from discord_stage.requests.rate_limits import RateLimits
from discord_stage.requests.request_log import RequestLog
from discord_stage.world.event_bus import EventBus, GatewayEvent
from discord_stage.world.ids import NonceMemory
from discord_stage.world.world_state import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The behaviour of a stage. Times are in Discord's seconds."""

    time_scale: float = 1.0
    """Rate limits and slow mode pass this many times faster; nothing else is scaled."""
    rate_limits: bool = True
    interaction_s: float = 3.0
    interaction_token_s: float = 900.0
    nonce_s: float = 300.0
    heartbeat_ms: int = 41_250
    heartbeat_ack_s: float = 0.01
    """How long after a heartbeat its acknowledgement is sent. discord.py measures its latency by
    it, and an answer within the same millisecond could arrive before discord.py has noted when it
    asked."""
    replay_most: int = 1000
    """How many events a session keeps for a RESUME; a client that missed more has to identify
    again."""
    shards: int = 1
    """How many shards `/gateway/bot` recommends."""
    max_concurrency: int = 1
    identify_s: float = 0.0
    """How long after an IDENTIFY the next one of its bucket is refused. Discord uses 5; 0 means
    never."""
    session_starts: int | None = None
    """How many IDENTIFYs are allowed. After one more, Discord resets the bot's token."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.time_scale > 0:
            raise StageError(f"time_scale: {self.time_scale!r} is not above 0")


class StageClock:
    """The time on the stage: that of its loop, plus what a test has skipped."""

    def __init__(self, loop_time: Callable[[], float]) -> None:
        self._loop_time = loop_time
        self._skipped_s = 0.0
        self._unix_zero = time.time() - loop_time()

    def now(self) -> float:
        return self._loop_time() + self._skipped_s

    def unix(self) -> float:
        """Return the time in seconds since 1970."""
        return self._unix_zero + self.now()

    def advance(self, seconds: float) -> None:
        self._skipped_s += seconds


class StateChanges:
    """Wakes everything that waits for a change."""

    def __init__(self) -> None:
        self._next: asyncio.Event = asyncio.Event()

    def notify(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self) -> None:
        await self._next.wait()


@dataclass(slots=True)
class StageState:
    """The shared state. The server creates it at the start, on its own loop."""

    world: World
    settings: Settings
    clock: StageClock
    bus: EventBus = field(default_factory=EventBus)
    changes: StateChanges = field(default_factory=StateChanges)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    slowmode: dict[tuple[int, int], float] = field(default_factory=dict)
    """(channel, user) → when they may write again."""
    url: str = ""
    loop_scale: float = 1.0
    """How many seconds of loop time one second of real time is (stage/scaled_loop.py)."""
    request_log: RequestLog = field(init=False)
    faults: Faults = field(init=False)
    limits: RateLimits = field(init=False)
    nonces: NonceMemory = field(init=False)
    attachment_urls: AttachmentUrls = field(init=False)

    def __post_init__(self) -> None:
        self.request_log = RequestLog(self.now, self.changes.notify)
        self.faults = Faults(self.world, random.Random(self.settings.seed))
        limited = self.settings.rate_limits
        self.limits = RateLimits(self.now, self.settings.time_scale, on=limited)
        self.nonces = NonceMemory(self.now, self.settings.nonce_s)
        self.attachment_urls = AttachmentUrls(lambda: self.url, self.clock.unix)
        self.bus.listen(lambda _event: self.changes.notify())

    def now(self) -> float:
        return self.clock.now()

    def emit(
        self,
        name: str,
        data: dict[str, object],
        *,
        guild_id: int | None = None,
        channel_id: int | None = None,
        only_for: int | None = None,
    ) -> None:
        self.bus.emit(GatewayEvent(name, data, guild_id, channel_id, only_for))
