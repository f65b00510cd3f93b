"""What several processes agree on: which of them answers a message, and runs a channel's turn.

In one process that is memory; with `redis_url` it is Redis. A Redis that is away never silences
the bot: with shards split over processes it only guards the moments when two of them overlap.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from oshaberi.errors import ConfigError
from oshaberi.stream.stops.stop_registry import StopRegistry
from oshaberi.turns.bounded_cache import KeyedLocks

KEPT_CLAIMS = 4000


class ProcessCoordination(Protocol):
    """How processes keep out of each other's way."""

    @property
    def stops(self) -> StopRegistry: ...

    async def claim(self, number: int) -> bool:
        """Whether this process is the one to deal with this message or command.

        True once, whoever asks, for as long as the process lives that was told so.
        """

    def alone(self, what: str) -> AbstractAsyncContextManager[object]:
        """Nobody else is in a block of the same name: `turn:123`, `webhook:123`.

        Gives None where there is no other process anyway.
        """

    async def departure(self) -> None:
        """Until a process has ended that had claimed what we asked for: it can be had now."""


class SingleProcess:
    """One process: nothing to agree on but what it has seen already."""

    def __init__(self) -> None:
        self.stops = StopRegistry()
        self._claimed: OrderedDict[int, None] = OrderedDict()
        self._keyed_locks: KeyedLocks[str] = KeyedLocks()

    async def claim(self, number: int) -> bool:
        if number in self._claimed:
            return False
        self._claimed[number] = None
        if len(self._claimed) > KEPT_CLAIMS:
            self._claimed.popitem(last=False)
        return True

    def give_up(self, number: int) -> None:
        """It may be claimed again."""
        self._claimed.pop(number, None)

    def alone(self, what: str) -> AbstractAsyncContextManager[object]:
        return self._keyed_locks.through(what)

    async def departure(self) -> None:
        await asyncio.Event().wait()


@asynccontextmanager
async def shared_state(redis_url: str | None) -> AsyncIterator[ProcessCoordination]:
    """Memory, or Redis if there is an address; one that cannot be reached is refused."""
    if redis_url is None:
        yield SingleProcess()
        return
    try:
        from oshaberi.bot.coordination.redis_coordination import over_redis
    except ImportError:
        raise ConfigError('redis_url: needs pip install "oshaberi[redis]"') from None

    async with over_redis(redis_url) as shared:
        yield shared
