"""How often and how long a message is tried again when its outcome is unknown (spec 07)."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.delivery.sink import AmbiguousError, Post

PATIENCE_SECONDS = 90.0
"""How long after the first attempt a message is given up."""
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)

DOUBTS = (AmbiguousError, OSError, TimeoutError)
"""Errors after which nobody knows what became of the request."""


@dataclass(slots=True)
class SendAttempts:
    """One message and its attempts."""

    post: Post
    first_at: float
    retries: int = 0
    doubted: bool = False
    webhook_renewed: bool = False

    def next_delay(self) -> float:
        delay = RETRY_SECONDS[min(self.retries, len(RETRY_SECONDS) - 1)]
        self.retries += 1
        return delay
