"""Virtual time: asyncio code that waits four minutes runs in milliseconds, the same every time.

The loop's clock jumps to the next timer when nothing else can run. It never jumps while a thread
works, and timers of equal time fire in the order in which they were made.
"""

from __future__ import annotations

import asyncio
import itertools
import selectors
from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from oshaberi.errors import OshaberiError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

REAL_TURNS = 5
"""How many times `settle` lets a real loop run: enough for a timer's wake-up to arrive."""


class DeadlockError(OshaberiError):
    """All tasks are waiting, and nothing can ever wake them."""


class _Moment(float):
    """A deadline with a number that orders equal ones, which asyncio's heap does not do."""

    order: int

    def __new__(cls, when: float, order: int) -> _Moment:
        moment = super().__new__(cls, when)
        moment.order = order
        return moment

    def __lt__(self, other: float) -> bool:
        if isinstance(other, _Moment) and float.__eq__(self, other):
            return self.order < other.order
        return float.__lt__(self, other)


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that polls, and asks the loop what to do instead of sleeping."""

    on_sleep: Callable[[float | None], float | None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        return super().select(self.on_sleep(timeout))


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with its own clock, which starts at zero."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.on_sleep = self._jump
        self._now = 0.0
        self._order = itertools.count()
        self._jobs = 0
        self._idle: deque[asyncio.Future[None]] = deque()
        super().__init__(selector)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._now

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        return super().call_at(_Moment(when, next(self._order)), callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def run_in_executor(
        self, executor: Any, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._job_done)
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:
        self._jobs += 1
        try:
            await super().shutdown_default_executor(*args)
        finally:
            self._jobs -= 1

    async def idle(self) -> None:
        """Wait until nothing else can run at this instant, before the clock moves."""
        future = self.create_future()
        self._idle.append(future)
        await future

    @contextmanager
    def still(self) -> Iterator[None]:
        """Stop the clock for the block."""
        self._jobs += 1
        try:
            yield
        finally:
            self._jobs -= 1

    def _job_done(self, _future: asyncio.Future[T]) -> None:
        self._jobs -= 1

    def _jump(self, timeout: float | None) -> float | None:
        """Return how long the selector may really sleep when nothing is ready."""
        if self._jobs:
            return None
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return 0
        if timeout is None:
            raise DeadlockError("every task waits for something that can never happen")
        self._now += timeout
        return 0


def outside_work() -> AbstractContextManager[None]:
    """Stop virtual time while something outside the loop (a database) is awaited."""
    loop = asyncio.get_running_loop()
    return loop.still() if isinstance(loop, VirtualLoop) else nullcontext()


async def settle() -> None:
    """Let everything that can run at this instant run first."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        await loop.idle()
        return
    for _ in range(REAL_TURNS):
        await asyncio.sleep(0)


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run like `asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
