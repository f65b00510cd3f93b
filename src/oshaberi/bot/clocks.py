"""The two clocks of the bot.

Dates, and what is stored, are by the wall clock. Waits and pauses are measured by the event loop's
clock, which never jumps, and which tests can speed up.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the wall clock's time."""
    return datetime.now(UTC)


def loop_time_s() -> float:
    """Return the event loop's time in seconds."""
    return asyncio.get_running_loop().time()
