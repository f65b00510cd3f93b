"""Limits the number of messages of a response (spec 07, limits)."""

from __future__ import annotations

from typing import Literal

from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.stream_config import StreamConfig

Limit = Literal["send_message_limit", "flush_limit"]


class MessageLimits:
    """Compares the limits with what the whole response has sent so far."""

    def __init__(self, config: StreamConfig, response: ResponseState) -> None:
        self._sends = config.send_message_limit
        self._flushes = config.text.max_flush_count
        self._response = response

    def reached(self) -> Limit | None:
        """Return the limit that forbids one more message, or None.

        `send_message_limit` 0 means no limit.
        """
        if self._sends and self._response.sent >= self._sends:
            return "send_message_limit"
        return "flush_limit" if self._response.sent >= self._flushes else None

    def leave_one(self) -> bool:
        """Tell whether the next message is the last one allowed."""
        limits = (self._sends, self._flushes)
        return any(0 < limit <= self._response.sent + 1 for limit in limits)
