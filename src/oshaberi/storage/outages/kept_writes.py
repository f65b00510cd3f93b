"""Keeps writes in order while the database is away. No caller waits for them.

If there are too many, the oldest are dropped, and the log says so once for each outage.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

from oshaberi.storage.outages.database_circuit_breaker import DatabaseCircuitBreaker
from oshaberi.storage.write_entries import WriteEntry

log = logging.getLogger(__name__)

MOST_KEPT = 20_000
MOST_KEPT_CHARACTERS = 64 * 1024 * 1024


class KeptWrites:
    """The rules for a writer's queue during an outage. `waiting` is that queue, oldest first."""

    def __init__(self, waiting: deque[WriteEntry], breaker: DatabaseCircuitBreaker) -> None:
        self._waiting = waiting
        self._breaker = breaker
        self._characters = 0
        self._dropped = 0

    def begin_outage(self, running: Sequence[WriteEntry]) -> None:
        """Release all callers that wait for the queue, or for a running transaction."""
        self._dropped = 0
        self._let_go(running)
        self.keep_all()

    def keep_all(self) -> None:
        """Keep the whole queue. The entries of a failed transaction are back at its front."""
        self._let_go(self._waiting)
        self._characters = sum(entry.size for entry in self._waiting)
        self._drop_oldest()

    def keep(self, newest: Sequence[WriteEntry]) -> None:
        """Keep entries that were added to the end of the queue."""
        self._let_go(newest)
        self._characters += sum(entry.size for entry in newest)
        self._drop_oldest()

    def _let_go(self, entries: Sequence[WriteEntry]) -> None:
        error = self._breaker.error()
        for entry in entries:
            entry.fail(error)
            entry.done = None

    def _drop_oldest(self) -> None:
        before = self._dropped
        while len(self._waiting) > MOST_KEPT or self._characters > MOST_KEPT_CHARACTERS:
            self._characters -= self._waiting.popleft().size
            self._dropped += 1
        if self._dropped and not before:
            log.error("the database is away for so long that the oldest entries are forgotten")
