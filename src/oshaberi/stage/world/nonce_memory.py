"""Remembers which message a nonce created. A repeated nonce of an author returns that message."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable


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
