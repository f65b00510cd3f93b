"""Holds every wait of a delivery, so that a stop ends all of them at once.

Hurried: simulated waits are over (a tool call, an error). Halted: no further request may leave.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


class AnswerTimer:
    """Wakes callers that have waited too long for an answer.

    One timer serves all waits. Most answers come in time, so it is set again only after it
    fired too early.
    """

    def __init__(self) -> None:
        self._deadlines: dict[asyncio.Future[None], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, waiter: asyncio.Future[None], deadline: float) -> None:
        self._deadlines[waiter] = deadline
        if self._timer is None or deadline < self._timer.when():
            self._set(deadline)

    def remove(self, waiter: asyncio.Future[None]) -> None:
        self._deadlines.pop(waiter, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, deadline: float) -> None:
        self.close()
        self._timer = asyncio.get_running_loop().call_at(deadline, self._ring, deadline)

    def _ring(self, now: float) -> None:
        self._timer = None
        _release({waiter for waiter, deadline in self._deadlines.items() if deadline <= now})
        later = [deadline for deadline in self._deadlines.values() if deadline > now]
        if later:
            self._set(min(later))


class InterruptibleWaits:
    """The waits of a delivery: open, then perhaps hurried, then perhaps halted; never back."""

    def __init__(self) -> None:
        self.hurried = False
        self.halted = False
        self._pauses: set[asyncio.Future[None]] = set()
        self._holds: set[asyncio.Future[None]] = set()
        self._answer_timer = AnswerTimer()

    @property
    def simulates(self) -> bool:
        """Tell whether simulated waits are still waited."""
        return not (self.hurried or self.halted)

    def hurry(self) -> None:
        self.hurried = True
        _release(self._pauses)

    def halt(self) -> None:
        self.halted = True
        _release(self._pauses)
        _release(self._holds)

    def close(self) -> None:
        """Release the timer. There must be no waits afterwards."""
        self._answer_timer.close()

    async def pause(self, seconds: float) -> None:
        """Wait a simulated time. It ends at once when hurried or halted."""
        if not self.hurried:
            await self._sleep(seconds, self._pauses)

    async def hold(self, seconds: float) -> bool:
        """Wait a required time. Return False if it was halted."""
        await self._sleep(seconds, self._holds)
        return not self.halted

    async def until(self, work: asyncio.Future[T], seconds: float | None = None) -> bool:
        """Wait for the work, at most `seconds`, or until halted. Return whether it is done."""
        if self.halted or work.done():
            return work.done()
        loop = asyncio.get_running_loop()
        wake: asyncio.Future[None] = loop.create_future()

        def woken(_work: asyncio.Future[T]) -> None:
            if not wake.done():
                wake.set_result(None)

        if seconds is not None:
            self._answer_timer.add(wake, loop.time() + seconds)
        work.add_done_callback(woken)
        try:
            await self._wait(wake, self._holds)
        finally:
            work.remove_done_callback(woken)
            self._answer_timer.remove(wake)
        return work.done()

    async def _sleep(self, seconds: float, waiters: set[asyncio.Future[None]]) -> None:
        if self.halted or seconds <= 0:
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, _release, {future})
        try:
            await self._wait(future, waiters)
        finally:
            timer.cancel()

    async def _wait(self, future: asyncio.Future[None], waiters: set[asyncio.Future[None]]) -> None:
        waiters.add(future)
        try:
            await future
        finally:
            waiters.discard(future)


def _release(waiters: set[asyncio.Future[None]]) -> None:
    for future in list(waiters):
        if not future.done():
            future.set_result(None)
