"""Makes single requests to the sink, and waits for slow mode and rate limits."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.send_outcome import Unavailable, Uncertain, Withdrawn
from oshaberi.delivery.posting.send_retries import PATIENCE_SECONDS, SendAttempts
from oshaberi.delivery.response_state import LimitWait, ResponseState
from oshaberi.delivery.sink import DiscordRefusalError, WireState

T = TypeVar("T")

SLOW_MODE_SECONDS = 60.0
UNKNOWN_WAIT_SECONDS = 5.0
NOTED_WAIT_SECONDS = 0.1


class SinkRequests:
    """Makes the requests of one delivery, one at a time."""

    def __init__(self, waits: InterruptibleWaits, response: ResponseState) -> None:
        self._waits = waits
        self._response = response

    async def make(self, request: Callable[[WireState], Coroutine[Any, Any, T]]) -> T:
        """Call the sink once. On a stop, a sent request is awaited, an unsent one withdrawn."""
        wanted_at = self._waits.now()
        wire = WireState(wanted_at)
        try:
            with self._waits.answer.of(wire):
                return await request(wire)
        finally:
            self._note_wait(wanted_at, wire)

    def _note_wait(self, wanted_at: float, wire: WireState) -> None:
        """Discord's limits are waited for without a word; the inspector shows them."""
        if wire.on_wire and wire.left_at - wanted_at >= NOTED_WAIT_SECONDS:
            self._response.limit_waits.append(LimitWait(wanted_at, wire.left_at))

    async def wait_out(
        self, case: SendAttempts, refusal: DiscordRefusalError
    ) -> Unavailable | Uncertain | Withdrawn | None:
        """Wait for slow mode or a rate limit. Nothing was created, so this is safe."""
        after_ms = refusal.retry_after_ms
        seconds = UNKNOWN_WAIT_SECONDS if after_ms is None else after_ms / 1000
        too_late = self._waits.now() + seconds > case.first_at + PATIENCE_SECONDS
        if seconds > SLOW_MODE_SECONDS or too_late:
            return Unavailable(refusal)
        if await self._waits.hold(seconds):
            return None
        return Uncertain(refusal) if case.doubted else Withdrawn()
