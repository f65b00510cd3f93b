"""Discord's ids: 42 bits of milliseconds since 2015, then a counter. Always growing."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

EPOCH_MS = 1_420_070_400_000
_TIME_SHIFT = 22


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Snowflakes:
    """Hands out ids. A later id is a larger one, also within one millisecond."""

    def __init__(self, now_ms: Callable[[], int] = _wall_ms) -> None:
        self._now_ms = now_ms
        self._last = 0

    def new(self) -> int:
        candidate = (self._now_ms() - EPOCH_MS) << _TIME_SHIFT
        self._last = max(candidate, self._last + 1)
        return self._last


def created_at(snowflake: int) -> datetime:
    return datetime.fromtimestamp(((snowflake >> _TIME_SHIFT) + EPOCH_MS) / 1000, UTC)


def iso(moment: datetime) -> str:
    """As Discord writes a time: microseconds and an offset, always."""
    return moment.isoformat(timespec="microseconds")


def now_iso() -> str:
    return iso(datetime.now(UTC))
