"""How many messages a response may have (spec 07, limits)."""

from __future__ import annotations

from typing import Literal

from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.stream_config import StreamConfig

Limit = Literal["send_message_limit", "flush_limit"]


class MessageLimits:
    """Looks at what the whole response has sent so far."""

    def __init__(self, config: StreamConfig, response: ResponseState) -> None:
        self._sends = config.send_message_limit
        self._flushes = config.text.max_flush_count
        self._response = response

    def reached(self) -> Limit | None:
        """Which limit forbids one more message. `send_message_limit` 0 is none."""
        if self._sends and self._response.sent >= self._sends:
            return "send_message_limit"
        return "flush_limit" if self._response.sent >= self._flushes else None

    def leave_one(self) -> bool:
        """Whether the next message is the last that is allowed."""
        limits = (self._sends, self._flushes)
        return any(0 < limit <= self._response.sent + 1 for limit in limits)
