"""The two clocks.

Dates and stored times come from the wall clock. Waits and pauses are measured with the event loop's
clock, which never jumps, and which tests can speed up (`virtual_time`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], float]

EARLY_S = 1e-6
"""How early a timer may fire: asyncio rounds to the clock's resolution, and seconds are rounded."""


def has_come(moment: float, now: float) -> bool:
    """Return whether a moment has come, or the timer for it has fired a little early.

    A timer for the rest would fire at once, again and again until the clock moves, and virtual time
    would stand still.
    """
    return moment - now <= EARLY_S


def utc_now() -> datetime:
    """Return the wall clock's time."""
    return datetime.now(UTC)


def loop_time_s() -> float:
    """Return the event loop's time in seconds."""
    return asyncio.get_running_loop().time()


def loop_clock() -> Clock:
    """Return a function with the results of the running loop's `time`.

    It is for code that reads the clock per token, or several times per message.
    `asyncio.get_running_loop().time()` takes six times as long: Python 3.11 asks the system for the
    process each time, and asyncio's `time` is a method around `time.monotonic`.
    """
    loop = asyncio.get_running_loop()
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time
