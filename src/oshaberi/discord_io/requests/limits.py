"""How many requests Discord allows: per second over all routes, and per bucket."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Protocol

from discord.http import HTTPClient

from oshaberi.checked_json import MOST_COUNT, bounded_seconds
from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import RequestKind, RequestRoom

KEPT_ROOMS = 4000


class KnownRooms:
    """What is left in each bucket, by kind of request and channel or webhook.

    Discord says it in the headers of its answers.
    """

    def __init__(self) -> None:
        self._rooms: OrderedDict[tuple[RequestKind, int], RequestRoom] = OrderedDict()

    def note(
        self, kind: RequestKind, place_id: int, headers: Mapping[str, str], now_s: float
    ) -> None:
        """Note the headers of an answer. Headers without a bucket change nothing."""
        room = room_of_headers(headers, now_s)
        if room is None:
            return
        self._rooms[kind, place_id] = room
        self._rooms.move_to_end((kind, place_id))
        if len(self._rooms) > KEPT_ROOMS:
            self._rooms.popitem(last=False)

    def of(self, kind: RequestKind, place_id: int | None) -> RequestRoom | None:
        return None if place_id is None else self._rooms.get((kind, place_id))


def room_of_headers(headers: Mapping[str, str], now_s: float) -> RequestRoom | None:
    """Read the bucket from the headers of a response; None if they do not say."""
    seconds = bounded_seconds(headers.get("X-RateLimit-Reset-After"))
    try:
        limit = int(headers["X-RateLimit-Limit"])
        remaining = int(headers["X-RateLimit-Remaining"])
    except (KeyError, ValueError):
        return None
    if seconds is None or min(limit, remaining) < 0 or max(limit, remaining) > MOST_COUNT:
        return None
    return RequestRoom(limit, remaining, now_s + seconds, noted_at=now_s)


FEWEST_BUCKETS = 256


class BucketSweep:
    """Removes the unused buckets of a client when their number has doubled since the last check.

    From 256 buckets on, discord.py itself looks at all of them whenever it makes a new one. A bot
    that speaks in a thousand channels has three thousand.
    """

    def __init__(self, http: HTTPClient) -> None:
        self._http = http
        self._remove_unused = http._try_clear_expired_ratelimits  # noqa: SLF001
        self._due_at = FEWEST_BUCKETS
        http._try_clear_expired_ratelimits = self  # type: ignore[method-assign]  # noqa: SLF001

    def __call__(self) -> None:
        buckets = self._http._buckets  # noqa: SLF001
        if len(buckets) >= self._due_at:
            self._remove_unused()
            self._due_at = max(FEWEST_BUCKETS, 2 * len(buckets))


log = logging.getLogger(__name__)

PER_SECOND = 50
WINDOW_SECONDS = 1.0
LONGEST_FLIGHT_SECONDS = 10.0
"""How long a request without an answer is counted."""
POLL_SECONDS = 0.02
TYPING_SHARE = 0.5
"""Typing is left out when this share of the last second's budget is used."""
MOST_WAITING_FOR_REACTIONS = PER_SECOND
"""Reactions are left out when more requests than this wait: a second's budget."""
RETRY_SECONDS = 5.0
"""How long a failed shared allowance is not asked again."""


class RequestRank(IntEnum):
    """The priority of a request when requests have to wait."""

    NEEDED = 0
    REACTION = 1
    TYPING = 2


class SharedAllowance(Protocol):
    """A budget that several processes draw from."""

    async def take(self, wanted: int) -> tuple[int, float]:
        """Return how many of the wanted requests may be sent now, and the seconds until the next
        call.

        Raises OSError if the store of the budget cannot be reached.
        """


class RequestBudget:
    """Shares out the requests that Discord allows a client in a second, over all routes.

    discord.py knows the buckets of single routes, but learns of the global limit only by being
    refused. Requests that a person waits for come first, then reactions; typing is sent only while
    plenty are left. A `SharedAllowance` makes it one budget for several processes. `per_second` 0
    means no limit, because a proxy takes care of it.

    Discord counts a request at some time between sending and response. So the budget counts it from
    sending until one second after the response.
    """

    def __init__(self, per_second: int = PER_SECOND) -> None:
        self.shared: SharedAllowance | None = None
        self.on_waited: Callable[[float], None] = lambda _seconds: None
        """Called with the seconds that a request had to wait; not called if it did not wait."""
        self._per_second = per_second
        self._left_at: deque[float] = deque()
        """When the requests that have no answer yet were sent."""
        self._answered_at: deque[float] = deque()
        self._waiting: dict[RequestRank, deque[asyncio.Future[None]]] = {
            rank: deque() for rank in RequestRank
        }
        self._releasing: asyncio.Task[None] | None = None
        self._shared_from = 0.0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def allows(self, rank: RequestRank) -> bool:
        """Return whether such a request may be made at all now. Necessary requests always may."""
        if self._per_second == 0 or rank is RequestRank.NEEDED:
            return True
        if rank is RequestRank.REACTION:
            return self.waiting <= MOST_WAITING_FOR_REACTIONS
        return not self.waiting and self._used(loop_time_s()) < self._per_second * TYPING_SHARE

    async def admit(self, path: str) -> float | None:
        """Wait until a request for this path may be sent. Return when that is (loop time).

        Returns None if the limit does not count the request.
        """
        return None if is_exempt(path) else await self.turn(rank_of(path))

    async def turn(self, rank: RequestRank = RequestRank.NEEDED) -> float:
        """Wait until a request may be sent. Return when that is."""
        began_s = loop_time_s()
        if self._per_second == 0:
            return began_s
        if self.shared is None and not self.waiting and self._used(began_s) < self._per_second:
            self._left_at.append(began_s)
            return began_s
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[rank].append(waiter)
        if self._releasing is None or self._releasing.done():
            self._releasing = asyncio.create_task(self._release(), name="discord request budget")
        try:
            await waiter
            now_s = loop_time_s()
            self.on_waited(now_s - began_s)
            return now_s
        finally:
            if not waiter.done() or waiter.cancelled():
                self._forget(rank, waiter)

    def answered(self, now_s: float) -> None:
        """Note that one of the sent requests has its answer, or will never get one."""
        if self._left_at:
            self._left_at.popleft()
            self._answered_at.append(now_s)

    async def close(self) -> None:
        """Stop releasing requests."""
        if self._releasing is not None:
            self._releasing.cancel()
            await asyncio.wait({self._releasing}, timeout=1)

    async def _release(self) -> None:
        while self.waiting:
            allowed, again_s = await self._allowed()
            for _ in range(allowed):
                self._wake_next()
            if self.waiting:
                await asyncio.sleep(max(again_s, POLL_SECONDS / 2))

    async def _allowed(self) -> tuple[int, float]:
        """Return how many requests may be sent now, and when to ask again."""
        now_s = loop_time_s()
        if self.shared is not None and now_s >= self._shared_from:
            try:
                return await self.shared.take(min(self.waiting, self._per_second))
            except OSError as error:
                log.warning("the budget of requests is not shared for now: %s", error)
                now_s = loop_time_s()
                self._shared_from = now_s + RETRY_SECONDS
        free = max(0, self._per_second - self._used(now_s))
        again_s = POLL_SECONDS
        if self._answered_at and not self._left_at:
            again_s = max(again_s, self._answered_at[0] + WINDOW_SECONDS - now_s)
        return min(self.waiting, free), again_s

    def _wake_next(self) -> None:
        for waiters in self._waiting.values():
            while waiters:
                waiter = waiters.popleft()
                if not waiter.done():
                    self._left_at.append(loop_time_s())
                    waiter.set_result(None)
                    return

    def _forget(self, rank: RequestRank, waiter: asyncio.Future[None]) -> None:
        if waiter in self._waiting[rank]:
            self._waiting[rank].remove(waiter)

    def _used(self, now_s: float) -> int:
        """Return how many requests Discord may count in this second."""
        _forget(self._answered_at, now_s - WINDOW_SECONDS)
        _forget(self._left_at, now_s - LONGEST_FLIGHT_SECONDS)
        return len(self._left_at) + len(self._answered_at)


def _forget(times: deque[float], oldest: float) -> None:
    while times and times[0] <= oldest:
        times.popleft()


def rank_of(path: str) -> RequestRank:
    """Return the rank of a request by its path."""
    if path.endswith("/typing"):
        return RequestRank.TYPING
    return RequestRank.REACTION if "/reactions/" in path else RequestRank.NEEDED


def is_exempt(path: str) -> bool:
    """Return whether a request is outside the global limit: interactions and webhooks (facts)."""
    parts = path.split("/")
    if "interactions" in parts:
        return True
    at = parts.index("webhooks") if "webhooks" in parts else -1
    return at >= 0 and len(parts) > at + 2 and "channels" not in parts
