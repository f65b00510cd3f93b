"""Every wait of a stream's delivery, so that a stop can end them all at once.

Hurried: simulated waits are over (a tool call, an error). Halted: no further request may leave.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


class Gate:
    """Open, then perhaps hurried, then perhaps halted; never back."""

    def __init__(self) -> None:
        self.hurried = False
        self.halted = False
        self._pauses: set[asyncio.Future[None]] = set()
        self._holds: set[asyncio.Future[None]] = set()

    @property
    def simulates(self) -> bool:
        """Whether simulated waits are still waited."""
        return not (self.hurried or self.halted)

    def hurry(self) -> None:
        self.hurried = True
        _release(self._pauses)

    def halt(self) -> None:
        self.halted = True
        _release(self._pauses)
        _release(self._holds)

    async def pause(self, seconds: float) -> None:
        """A simulated wait: over at the latest when hurried or halted."""
        if not self.hurried:
            await self._wait(seconds, self._pauses)

    async def hold(self, seconds: float) -> bool:
        """A wait that is needed. Whether it was waited out, rather than halted."""
        await self._wait(seconds, self._holds)
        return not self.halted

    async def until(self, work: asyncio.Future[T], seconds: float | None = None) -> bool:
        """Wait for the work, for so long, or until halted. Whether the work is done."""
        if work.done():
            return True
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def woken(_work: asyncio.Future[T]) -> None:
            _release({wake})

        work.add_done_callback(woken)
        try:
            await self._wait(seconds, self._holds, wake)
        finally:
            work.remove_done_callback(woken)
        return work.done()

    async def _wait(
        self,
        seconds: float | None,
        waiters: set[asyncio.Future[None]],
        future: asyncio.Future[None] | None = None,
    ) -> None:
        if self.halted or (seconds is not None and seconds <= 0):
            return
        loop = asyncio.get_running_loop()
        future = future or loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, _release, {future})
        waiters.add(future)
        try:
            await future
        finally:
            waiters.discard(future)
            if timer is not None:
                timer.cancel()


def _release(waiters: set[asyncio.Future[None]]) -> None:
    for future in list(waiters):
        if not future.done():
            future.set_result(None)
