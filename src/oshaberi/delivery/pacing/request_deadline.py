"""Cuts off a request to the sink: when no answer comes, or by a stop before it was sent.

It cancels the task that waits for the answer and turns that into an error of its own, as
`asyncio.timeout` does. No task, future or timer is made for a request.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from oshaberi.delivery.pacing.loop_clock import Clock
from oshaberi.delivery.sink import AmbiguousError, SinkError, WireState

ANSWER_SECONDS = 20.0
CLOSING_SECONDS = 10.0
AGAIN_SECONDS = 1.0
"""After how long a sink that ignores its cancellation is cancelled again."""


class WithdrawnError(SinkError):
    """A stop came before the request was sent."""


class AnswerDeadline:
    """The deadline of one request at a time: `with deadline.of(wire): await sink.send(…, wire)`.

    Most answers come in time, so the timer is set again only after it fired too early.
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
            # By this deadline, or by something inside the sink that gave up.
            raise cut_off_by or AmbiguousError("the request was cut off") from error

    def halt(self) -> None:
        """Withdraw the request if it has not been sent. One on the wire is awaited a while."""
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
        left = self._due - self._now()
        if left > 0:
            self._set(left)
        elif self._error is not None:
            self._cut_off(self._error)
        elif self._halted:
            late = AmbiguousError(f"no answer within {CLOSING_SECONDS:.0f} s of the stop")
            self._cut_off(late if wire.on_wire else WithdrawnError())
        else:
            self._ring_for(wire)

    def _ring_for(self, wire: WireState) -> None:
        """The time of a request that waits for a rate limit has not begun."""
        passed = self._now() - wire.left_at if wire.on_wire else 0.0
        if passed < ANSWER_SECONDS:
            self._set(ANSWER_SECONDS - passed)
        else:
            self._cut_off(AmbiguousError(f"no answer within {ANSWER_SECONDS:.0f} s"))

    def _cut_off(self, error: SinkError) -> None:
        self._error = error
        if self._task is not None:
            self._cancels += 1
            self._task.cancel()
            self._set(AGAIN_SECONDS)
