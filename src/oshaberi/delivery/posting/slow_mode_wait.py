"""Waits for slow mode or a rate limit, or finds that it takes too long (spec 07, recovery)."""

from __future__ import annotations

from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.send_attempts import SendAttempts
from oshaberi.delivery.posting.send_outcome import Unavailable, Uncertain, Withdrawn
from oshaberi.delivery.sink import DiscordRefusalError

SLOW_MODE_SECONDS = 60.0
"""A channel whose next message may leave later than this is unavailable."""
UNKNOWN_WAIT_SECONDS = 5.0


async def wait_out(
    waits: InterruptibleWaits, case: SendAttempts, refusal: DiscordRefusalError
) -> Unavailable | Uncertain | Withdrawn | None:
    """Wait as long as Discord asks for. Nothing was created, so trying again is safe."""
    after_ms = refusal.retry_after_ms
    seconds = UNKNOWN_WAIT_SECONDS if after_ms is None else after_ms / 1000
    too_late = waits.now() + seconds > case.given_up_at
    if seconds > SLOW_MODE_SECONDS or too_late:
        return Unavailable(refusal)
    if await waits.hold(seconds):
        return None
    return Uncertain(refusal) if case.doubted else Withdrawn()
