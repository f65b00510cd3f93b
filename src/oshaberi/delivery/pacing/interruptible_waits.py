"""Holds every wait of a delivery, so that a stop ends all of them at once.

Hurried: simulated waits are over (a tool call, an error). Halted: no further request may leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from oshaberi.delivery.pacing.loop_clock import loop_clock
from oshaberi.delivery.pacing.request_deadline import AnswerDeadline

T = TypeVar("T")


class InterruptibleWaits:
    """The waits of a delivery: open, then perhaps hurried, then perhaps halted; never back."""

    def __init__(self) -> None:
        self.hurried = False
        self.halted = False
        self.now = loop_clock()
        self._loop = asyncio.get_running_loop()
        self._pauses: set[asyncio.Future[None]] = set()
        self._holds: set[asyncio.Future[None]] = set()
        self.answer = AnswerDeadline(self._loop, self.now)
        """Of the request to the sink that is under way."""

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
        self.answer.halt()

    def close(self) -> None:
        """Release the timer. There must be no waits afterwards."""
        self.answer.close()

    def pause(self, seconds: float) -> Coroutine[Any, Any, None]:
        """Wait a simulated time. It ends at once when hurried or halted."""
        return self._sleep(0.0 if self.hurried else seconds, self._pauses)

    async def hold(self, seconds: float) -> bool:
        """Wait a required time. Return False if it was halted."""
        await self._sleep(seconds, self._holds)
        return not self.halted

    async def until(self, work: asyncio.Future[T]) -> bool:
        """Wait for the work, or until halted. Return whether it is done."""
        if self.halted or work.done():
            return work.done()
        wake: asyncio.Future[None] = self._loop.create_future()

        def woken(_work: asyncio.Future[T]) -> None:
            _wake(wake)

        work.add_done_callback(woken)
        self._holds.add(wake)
        try:
            await wake
        finally:
            self._holds.discard(wake)
            work.remove_done_callback(woken)
        return work.done()

    async def _sleep(self, seconds: float, waiters: set[asyncio.Future[None]]) -> None:
        if self.halted or seconds <= 0:
            return
        future: asyncio.Future[None] = self._loop.create_future()
        timer = self._loop.call_at(self.now() + seconds, _wake, future)
        waiters.add(future)
        try:
            await future
        finally:
            waiters.discard(future)
            timer.cancel()


def _release(waiters: set[asyncio.Future[None]]) -> None:
    for future in list(waiters):
        _wake(future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
