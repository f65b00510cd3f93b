"""A timer may fire a little early. Nobody waits for the rest, or virtual time would stand still."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

import pytest

from oshaberi.clocks import EARLY_S, has_come
from oshaberi.delivery.sink import AmbiguousError, WireState
from oshaberi.delivery.waits import AnswerDeadline
from oshaberi.virtual_time import VirtualLoop

Ts = TypeVarTuple("Ts")
MOST_TIMERS = 20_000


class _CountedTimers(VirtualLoop):
    """Breaks off instead of standing still for ever."""

    count = 0

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self.count += 1
        if self.count > MOST_TIMERS:
            self.stop()
        return super().call_at(when, callback, *args, context=context)


def test_a_moment_has_come_when_its_timer_may_fire() -> None:
    assert has_come(5.0, 5.0)
    assert has_come(5.0, 5.0 - EARLY_S / 2)
    assert not has_come(5.0, 4.9)


def test_the_rest_of_a_time_limit_is_not_waited_for_again_and_again() -> None:
    """Found by a property: the limit of a request was due a rounding error later than its timer."""

    async def main() -> None:
        source = random.Random(5)
        loop = asyncio.get_running_loop()
        deadline = AnswerDeadline(loop, loop.time)

        async def request() -> None:
            wire = WireState(loop.time())
            with deadline.of(wire):
                await asyncio.sleep(source.random() / 3)
                wire.leave(loop.time())
                await loop.create_future()

        for _ in range(500):
            await asyncio.sleep(source.random() * 7)
            with pytest.raises(AmbiguousError):
                await request()
        deadline.close()

    with asyncio.Runner(loop_factory=_CountedTimers) as runner:
        runner.run(main())
