"""How long a shard waits before it tries to connect again.

discord.py's own back-off grows to 1024 seconds: after an outage of some minutes the bot would stay
away for a quarter of an hour. Ours stays near 30, and is drawn at random, so that the shards of a
fleet do not all come back in the same second.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from discord.backoff import ExponentialBackoff

LONGEST_SECONDS = 30.0
LEAST_SHARE = 0.5
"""The shortest wait, as a share of the time that the back-off has grown to."""
FORGET_SECONDS = 120.0
"""If a connection is lost this long after the last wait, the back-off starts again."""


class ReconnectBackoff(ExponentialBackoff[bool]):
    """The waits of one shard: about 1, 2, 4, 8, 16, then up to 30 seconds each."""

    def __init__(
        self,
        draw: Callable[[float, float], float] = random.uniform,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._draw = draw
        self._now_s = now_s
        self._waits = 0
        self._last_at = now_s()

    def delay(self) -> float:
        """Return how many seconds to wait before the next attempt."""
        now = self._now_s()
        if now - self._last_at > FORGET_SECONDS:
            self._waits = 0
        self._last_at = now
        longest = min(LONGEST_SECONDS, 2.0**self._waits)
        self._waits = min(self._waits + 1, 10)
        return longest * self._draw(LEAST_SHARE, 1.0)
