"""Every wait of a delivery: clock, deadlines of requests, and waits that a stop ends at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from oshaberi.clocks import Clock, has_come, loop_clock
from oshaberi.delivery.sink import AmbiguousError, SinkError, WireState

T = TypeVar("T")

ANSWER_SECONDS = 20.0
CLOSING_SECONDS = 10.0
AGAIN_SECONDS = 1.0
"""After how long a sink that ignores its cancellation is cancelled again."""
NOTED_WAIT_SECONDS = 0.1
"""A shorter wait for one of Discord's limits is not noted."""


class WithdrawnError(SinkError):
    """A stop came before the request was sent."""


class AnswerDeadline:
    """Cuts off a request to the sink if no answer comes, or if a stop comes before it was sent.

    One request at a time: `with deadline.of(wire): await sink.send(…, wire)`. It cancels the task
    that waits for the answer and turns that into an error of its own, as `asyncio.timeout` does. No
    task or future is made for a request. Most answers come in time, so the timer is set again only
    after it fired too early.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Clock) -> None:
        self._loop = loop
        self._now = now
        self._halted = False
        self._wire: WireState | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelled_before = 0
        self._cancels = 0
        self._error: SinkError | None = None
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def of(self, wire: WireState) -> AnswerDeadline:
        self._wire = wire
        return self

    def __enter__(self) -> None:
        self._task = asyncio.current_task(self._loop)
        self._cancelled_before = 0 if self._task is None else self._task.cancelling()
        self._set(CLOSING_SECONDS if self._halted else ANSWER_SECONDS)

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        task, self._task, self._wire = self._task, None, None
        cancels, self._cancels = self._cancels, 0
        cut_off_by, self._error = self._error, None
        if task is None or not (cancels or isinstance(error, asyncio.CancelledError)):
            return
        for _ in range(cancels):
            task.uncancel()
        is_ours = task.cancelling() <= self._cancelled_before
        if is_ours and isinstance(error, asyncio.CancelledError):
            # Either this deadline or something inside the sink gave up.
            raise cut_off_by or AmbiguousError("the request was cut off") from error

    def halt(self) -> None:
        """Withdraw the request if it has not been sent. One on the wire gets a while to finish."""
        self._halted = True
        if self._wire is not None:
            if self._wire.on_wire:
                self._set(CLOSING_SECONDS)
            else:
                self._cut_off(WithdrawnError())

    def close(self) -> None:
        """Release the timer. There must be no requests afterwards."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, seconds: float) -> None:
        self._due = self._now() + seconds
        if self._timer is not None and self._timer.when() > self._due:
            self.close()
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        wire = self._wire
        if wire is None:
            return
        now = self._now()
        if not has_come(self._due, now):
            self._set(self._due - now)
        elif self._error is not None:
            self._cut_off(self._error)
        elif self._halted:
            late = AmbiguousError(f"no answer within {CLOSING_SECONDS:.0f} s of the stop")
            self._cut_off(late if wire.on_wire else WithdrawnError())
        else:
            self._ring_for(wire)

    def _ring_for(self, wire: WireState) -> None:
        """The time of a request that waits for a rate limit has not started yet."""
        now = self._now()
        due = (wire.left_at if wire.on_wire else now) + ANSWER_SECONDS
        if not has_come(due, now):
            self._set(due - now)
        else:
            self._cut_off(AmbiguousError(f"no answer within {ANSWER_SECONDS:.0f} s"))

    def _cut_off(self, error: SinkError) -> None:
        self._error = error
        if self._task is not None:
            self._cancels += 1
            self._task.cancel()
            self._set(AGAIN_SECONDS)


class InterruptibleWaits:
    """Holds every wait of a delivery, so that a stop ends all of them at once.

    They are open, then perhaps hurried, then perhaps halted, and never go back. Hurried: simulated
    waits are over (a tool call, an error). Halted: no further request may be sent.
    """

    def __init__(self) -> None:
        self.hurried = False
        self.halted = False
        self.now = loop_clock()
        self._loop = asyncio.get_running_loop()
        self._pauses: set[asyncio.Future[None]] = set()
        self._holds: set[asyncio.Future[None]] = set()
        self._answer = AnswerDeadline(self._loop, self.now)
        """The state of the request to the sink that is under way."""

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
        self._answer.halt()

    def close(self) -> None:
        """Release the timer. There must be no waits afterwards."""
        self._answer.close()

    def pause(self, seconds: float) -> Coroutine[Any, Any, None]:
        """Wait a simulated time. It ends at once when hurried or halted."""
        return self._sleep(0.0 if self.hurried else seconds, self._pauses)

    async def hold(self, seconds: float) -> bool:
        """Wait a required time. Return False if it was halted."""
        await self._sleep(seconds, self._holds)
        return not self.halted

    async def request(
        self,
        make: Callable[[WireState], Coroutine[Any, Any, T]],
        on_limit: Callable[[float, float], None],
    ) -> T:
        """Make one request to the sink.

        A stop withdraws a request that has not been sent, and waits a while for one that has. If
        the request had to wait for one of Discord's limits, `on_limit` is called with the time when
        it was ready and the time when it was sent.
        """
        wanted_at = self.now()
        wire = WireState(wanted_at)
        try:
            with self._answer.of(wire):
                return await make(wire)
        finally:
            if wire.on_wire and wire.left_at - wanted_at >= NOTED_WAIT_SECONDS:
                on_limit(wanted_at, wire.left_at)

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
