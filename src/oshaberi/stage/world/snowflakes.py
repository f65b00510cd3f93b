"""Discord's ids: 42 bits of milliseconds since 2015, then a counter. Each id is larger."""

from __future__ import annotations

import time
from datetime import UTC, datetime

EPOCH_MS = 1_420_070_400_000
_TIME_SHIFT = 22
DIGITS_MOST = 20
"""The most digits that an id of 64 bits can have."""


class Snowflakes:
    """Creates ids. A later id is always larger, even within one millisecond.

    With a `foundation` date the ids have that date until the first event.
    """

    def __init__(self, foundation: datetime | None = None) -> None:
        self._founded_ms = None if foundation is None else int(foundation.timestamp() * 1000)
        self._last = 0

    def begin(self) -> None:
        self._founded_ms = None

    def new(self) -> int:
        now_ms = time.time_ns() // 1_000_000 if self._founded_ms is None else self._founded_ms
        self._last = max((now_ms - EPOCH_MS) << _TIME_SHIFT, self._last + 1)
        return self._last


def number_in(text: str) -> int | None:
    """Return the number in a text, at most as long as an id; None if it is not a number."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= DIGITS_MOST
    return int(text) if is_number else None


def created_at(snowflake: int) -> datetime:
    return datetime.fromtimestamp(((snowflake >> _TIME_SHIFT) + EPOCH_MS) / 1000, UTC)


def iso(moment: datetime) -> str:
    """Write a time as Discord does: always with microseconds and an offset."""
    return moment.isoformat(timespec="microseconds")


def now_iso() -> str:
    return iso(datetime.now(UTC))
