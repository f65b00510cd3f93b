"""The running loop's clock, for what reads it per token and several times per message.

`asyncio.get_running_loop().time()` takes six times as long: Python 3.11 asks the system for the
process each time, and asyncio's `time` is a method around `time.monotonic`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

Clock = Callable[[], float]


def loop_clock() -> Clock:
    """Return a function with the results of the running loop's `time`."""
    loop = asyncio.get_running_loop()
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time
