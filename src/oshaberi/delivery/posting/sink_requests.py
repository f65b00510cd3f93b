"""Makes single requests to the sink, and notes how long Discord's limits held them up.

How long a stop waits for a request on the wire is decided in `pacing.request_deadline`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.response_state import LimitWait, ResponseState
from oshaberi.delivery.sink import WireState

T = TypeVar("T")

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
