"""Discord's ids (snowflakes), and which message a nonce created."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

# Discord's ids: 42 bits of milliseconds since 2015, then a counter. Each id is larger.


EPOCH_MS = 1_420_070_400_000
_TIME_SHIFT = 22
DIGITS_MOST = 20
"""The most digits that an id of 64 bits can have."""


class Snowflakes:
    """Creates ids. A later id is always larger, even within one millisecond.

    With a `foundation` date, ids have that date until the first event.
    """

    def __init__(self, foundation: datetime | None = None) -> None:
        self._founded_ms = None if foundation is None else int(foundation.timestamp() * 1000)
        self._last = 0

    def begin(self) -> None:
        self._founded_ms = None

    def go_on_after(self, snowflake: int) -> None:
        """Create only larger ids from now on."""
        self._last = max(self._last, snowflake)

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


# Remembers which message a nonce created. A repeated nonce of an author returns that message.


class NonceMemory:
    """Remembers the message of each nonce, for as long as Discord does."""

    def __init__(self, now: Callable[[], float], keep_s: float) -> None:
        self._now = now
        self._keep_s = keep_s
        self._made: OrderedDict[tuple[int, str], tuple[float, int, int]] = OrderedDict()

    def find(self, author_id: int, nonce: str) -> tuple[int, int] | None:
        """Return the (channel, message) that a nonce created, even if it was deleted."""
        self._forget()
        entry = self._made.get((author_id, nonce))
        return None if entry is None else entry[1:]

    def remember(self, author_id: int, nonce: str, channel_id: int, message_id: int) -> None:
        self._made[author_id, nonce] = (self._now(), channel_id, message_id)
        self._made.move_to_end((author_id, nonce))

    def _forget(self) -> None:
        oldest = self._now() - self._keep_s
        while self._made and next(iter(self._made.values()))[0] < oldest:
            self._made.popitem(last=False)
