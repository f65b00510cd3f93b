"""Holds requests back: ban guard, circuit breaker of a channel, typing gate, lease fence."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from types import SimpleNamespace

import aiohttp

from oshaberi.clocks import EARLY_S, loop_clock, loop_time_s
from oshaberi.delivery.sink import DiscordRefusalError
from oshaberi.discord_io.requests.limits import KnownRooms, RequestBudget, RequestRank

log = logging.getLogger(__name__)

INVALID = frozenset({401, 403, 429})
LIMIT = 10_000
WINDOW_SECONDS = 600.0
SLOTS = 600
"""How many slots the window has: answers are counted by slot, not one by one."""
NO_COURTESIES_SHARE = 0.3
SPACED_SHARE = 0.5
CEILING_SHARE = 0.9
"""Requests are spaced so that a whole window of refusals stays below this share of the limit."""
EASE_SHARE = 0.8
"""A step is taken back only when the count has fallen to this share of its threshold."""
LONGEST_GAP_SECONDS = 10.0


class Slowdown(IntEnum):
    NONE = 0
    NO_COURTESIES = 1
    """Typing and reactions are left out."""
    SPACED = 2
    """In addition, requests are spaced out."""


_THRESHOLDS = {
    Slowdown.NO_COURTESIES: NO_COURTESIES_SHARE,
    Slowdown.SPACED: SPACED_SHARE,
}
_WORDS = {
    Slowdown.NO_COURTESIES: "typing and reactions are left out",
    Slowdown.SPACED: "typing and reactions are left out, all requests are slowed down",
}


class BanGuard:
    """Counts a client's invalid answers and slows it down. `on_invalid` is called for each.

    Discord bans an address for 10 000 answers of 401, 403 or 429 within ten minutes (facts). Long
    before that, typing and reactions are left out; later all requests are spaced out, so that the
    limit is not reached even if every request is refused.
    """

    def __init__(self, limit: int = LIMIT, window_seconds: float = WINDOW_SECONDS) -> None:
        self.on_invalid: Callable[[int], None] = lambda _status: None
        self._limit = limit
        self._window_s = window_seconds
        self._slot_s = window_seconds / SLOTS
        self._slots: deque[tuple[int, int]] = deque()
        self.total = 0
        """Invalid answers since the start."""
        self._count = 0
        self._elsewhere = 0
        self._slowdown = Slowdown.NONE
        self._time: Callable[[], float] | None = None
        self._turns = asyncio.Lock()
        self._last_turn_at = 0.0

    @property
    def count(self) -> int:
        """Return the invalid answers within the window, of all processes if they are known."""
        return self.count_here + self._elsewhere

    @property
    def count_here(self) -> int:
        """Return the count of this process alone."""
        if self._time is not None:
            self._forget_old(self._time())
        return self._count

    def note_elsewhere(self, count: int) -> None:
        """Note how many requests of other processes were refused within the window."""
        self._elsewhere = count
        self._slow_down()

    @property
    def slowdown(self) -> Slowdown:
        self._ease()
        return self._slowdown

    @property
    def allows_courtesies(self) -> bool:
        """Return whether typing indicators and reactions may be sent."""
        return self.slowdown < Slowdown.NO_COURTESIES

    @property
    def is_spaced(self) -> bool:
        return self.slowdown is Slowdown.SPACED

    def note(self, status: int) -> None:
        """Count an answer of Discord if it is invalid."""
        if status not in INVALID:
            return
        self._time = loop_clock()
        slot = int(self._time() / self._slot_s)
        before = self._slots.pop()[1] if self._slots and self._slots[-1][0] == slot else 0
        self._slots.append((slot, before + 1))
        self._count += 1
        self.total += 1
        self.on_invalid(status)
        self._slow_down()

    async def turn(self) -> None:
        """Wait until a request may be sent. There is no wait unless requests are spaced out."""
        if not self.is_spaced:
            return
        async with self._turns:
            now = loop_clock()
            while (wait := self._until_turn_s(now())) > EARLY_S:
                await asyncio.sleep(min(wait, 1.0))
            self._last_turn_at = now()

    def _until_turn_s(self, now: float) -> float:
        return self._last_turn_at + self._gap_s() - now if self.is_spaced else 0.0

    def _gap_s(self) -> float:
        left = self._limit * CEILING_SHARE - self.count
        return min(LONGEST_GAP_SECONDS, self._window_s / left) if left > 0 else LONGEST_GAP_SECONDS

    def _forget_old(self, now: float) -> None:
        oldest = (now - self._window_s) / self._slot_s
        while self._slots and self._slots[0][0] < oldest - 1:
            self._count -= self._slots.popleft()[1]

    def _slow_down(self) -> None:
        reached = [step for step, share in _THRESHOLDS.items() if self.count >= share * self._limit]
        step = max(reached, default=Slowdown.NONE)
        if step > self._slowdown:
            self._slowdown = step
            log.warning(
                "Discord refused %d requests within %.0f s and bans at %d: %s",
                *(self.count, self._window_s, self._limit, _WORDS[step]),
            )

    def _ease(self) -> None:
        while self._slowdown and self.count < self._threshold(self._slowdown) * EASE_SHARE:
            self._slowdown = Slowdown(self._slowdown - 1)
            words = _WORDS.get(self._slowdown, "requests go out as usual")
            log.warning("Discord refused %d requests within the window: %s", self.count, words)

    def _threshold(self, step: Slowdown) -> float:
        return _THRESHOLDS[step] * self._limit


FORBIDDEN = frozenset({50001, 50013})
MOST_REFUSALS = 3
OPEN_SECONDS = 300.0


@dataclass(slots=True)
class _ChannelFailures:
    refusals: int = 0
    code: int = 0
    open_until: float = 0.0


class CircuitBreaker:
    """Blocks a channel for a while after several 403s in a row: they count towards a ban (facts).

    After that, requests are tried again: one more 403 blocks the channel again, a success resets
    the count.
    """

    def __init__(self, most: int = MOST_REFUSALS, open_seconds: float = OPEN_SECONDS) -> None:
        self._most = most
        self._open_seconds = open_seconds
        self._channels: dict[int, _ChannelFailures] = {}

    @contextmanager
    def trying(self, channel_id: int) -> Iterator[None]:
        """Send a request to the channel in this block. Raises the refusal if it is blocked."""
        channel = self._channels.get(channel_id)
        if channel is not None and loop_time_s() < channel.open_until:
            raise DiscordRefusalError(channel.code, "refused too often; not asked again for now")
        try:
            yield
        except DiscordRefusalError as refusal:
            if refusal.code in FORBIDDEN:
                self._count_refusal(channel_id, refusal.code)
            raise
        self.reset(channel_id)

    def reset(self, channel_id: int) -> None:
        """Forget the channel's refusals."""
        self._channels.pop(channel_id, None)

    def _count_refusal(self, channel_id: int, code: int) -> None:
        channel = self._channels.setdefault(channel_id, _ChannelFailures())
        channel.refusals += 1
        channel.code = code
        if channel.refusals >= self._most:
            channel.open_until = loop_time_s() + self._open_seconds


SERVES_SECONDS = 9.5
"""How long one request lasts: ten seconds, less the time that a request may take."""
OFF_SECONDS = 3600.0
"""How long the indicator is not shown in a channel where Discord refused it."""


class TypingGate:
    """The typing indicators of one client, for all channels.

    A request is left out where Discord refuses it, where the indicator is shown anyway, and, as the
    first kind of request, when requests are scarce.
    """

    def __init__(self, guard: BanGuard, budget: RequestBudget, rooms: KnownRooms) -> None:
        self._guard = guard
        self._budget = budget
        self._rooms = rooms
        self._circuit = CircuitBreaker(most=1, open_seconds=OFF_SECONDS)
        self._shown_until: dict[int, float] = {}

    def may_show(self, channel_id: int, seconds: float) -> bool:
        """Return whether to send a request for this long: not if the indicator shows anyway."""
        if not self._guard.allows_courtesies or not self._budget.allows(RequestRank.TYPING):
            return False
        room, now_s = self._rooms.of("typing", channel_id), loop_time_s()
        if room is not None and room.is_empty(now_s):
            return False
        needed_until = now_s + min(seconds, SERVES_SECONDS - 0.01)
        return needed_until > self._shown_until.get(channel_id, 0.0)

    @contextmanager
    def showing(self, channel_id: int) -> Iterator[None]:
        """Send the request in this block. Raises the refusal where Discord allows no indicator."""
        with self._circuit.trying(channel_id):
            now = loop_time_s()
            kept = {place: until for place, until in self._shown_until.items() if until > now}
            self._shown_until = kept | {channel_id: now + SERVES_SECONDS}
            try:
                yield
            except BaseException:
                self._shown_until.pop(channel_id, None)
                raise

    def message_came(self, channel_id: int) -> None:
        """Note a message of ours, which ends the indicator."""
        self._shown_until.pop(channel_id, None)

    def try_again(self, channel_id: int) -> None:
        self._circuit.reset(channel_id)


POLL_SECONDS = 0.05


def time_since_boot() -> float:
    """Return the seconds since boot, including sleep where the system can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class LeaseFence:
    """Holds back all requests of a process that may no longer speak for the bot.

    A process that shares the shards with others may send only while its lease is valid: until
    `close_at`, which the shard keeper moves forward. Without it the fence is always open. The clock
    also runs while the machine sleeps, so a process that was suspended for a minute finds the fence
    closed before it sends its next request.
    """

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
