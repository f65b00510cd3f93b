"""Decides which messages of a response notify their readers (`notify`, spec 07: quiet)."""

from __future__ import annotations

from oshaberi.delivery.queue.message_limits import MessageLimits
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.stream_config import StreamConfig


class NotifyPolicy:
    """All messages notify, or only the first or the last of a response."""

    def __init__(
        self, config: StreamConfig, limits: MessageLimits, response: ResponseState
    ) -> None:
        self._notify = config.notify
        self._limits = limits
        self._response = response
        self.least_waiting = 2 if config.notify == "last" else 1
        """How many messages must wait before one is sent: with `notify: last`, two."""

    def is_silent(self, *, ends_response: bool) -> bool:
        """Tell whether the next message is sent without a notification."""
        match self._notify:
            case "first":
                return self._response.sent > 0
            case "last":
                return not (ends_response or self._limits.leave_one())
        return False
