"""How often and how long a message is tried again when its outcome is unknown (spec 07)."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.sink import AmbiguousError, Post, SinkAwayError

PATIENCE_SECONDS = 90.0
"""How long after the first attempt a message is given up."""
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)
AWAY_SECONDS = 2.0
"""How often a message that waits for Discord's return looks whether it is back."""

DOUBTS = (AmbiguousError, OSError, TimeoutError)
"""Errors after which nobody knows what became of the request."""


@dataclass(slots=True)
class SendAttempts:
    """One message and its attempts."""

    post: Post
    first_at: float
    retries: int = 0
    doubted: bool = False
    """An attempt may have arrived."""
    must_look: bool = False
    """Look for an earlier attempt first: it is too old for its nonce to prevent a second one."""
    webhook_renewed: bool = False
    returned_at: float | None = None
    """When Discord was last known to be away. From then on its patience counts anew."""

    @property
    def patient_since(self) -> float:
        return self.first_at if self.returned_at is None else self.returned_at

    @property
    def given_up_at(self) -> float:
        return self.patient_since + PATIENCE_SECONDS

    async def wait_for_return(self, waits: InterruptibleWaits, away: SinkAwayError) -> bool | None:
        """Wait a while. Return whether to go on waiting; None if a stop ended the wait.

        A notice is waited for as long as it takes: somebody has to be told.
        """
        began = waits.now()
        is_late = began + AWAY_SECONDS > self.first_at + away.patience_s
        if is_late and self.post.embed is None:
            return False
        is_open = await waits.hold(AWAY_SECONDS)
        self.returned_at = waits.now()
        has_nonce = self.post.face is None and waits.now() - self.first_at < PATIENCE_SECONDS
        self.must_look = self.doubted and not has_nonce
        return True if is_open else None

    def next_delay(self) -> float:
        delay = RETRY_SECONDS[min(self.retries, len(RETRY_SECONDS) - 1)]
        self.retries += 1
        return delay
