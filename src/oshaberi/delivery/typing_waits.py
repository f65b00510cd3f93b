"""Waits as long as a person would have typed the next message (spec 07, typing simulation)."""

from __future__ import annotations

from oshaberi.delivery.outgoing_message import OutgoingMessage
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.pacing.typing_pace import fit
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.delivery.response_state import ResponseState

SHORT_ANSWER = 3
"""An answer of this many messages will most likely have more."""
WRITING_SHARE = 0.5
"""The share of the longest backlog that is allowed while the model still writes a long answer."""

SHORTEST_SHOWN_SECONDS = 0.15
"""A shorter wait shows no indicator: nobody would see it, and Discord limits the requests."""


class TypingWaits:
    """The pace of degrees 2 and 3. The model's own time counts."""

    def __init__(
        self,
        max_backlog_ms: float,
        queue: MessageQueue,
        response: ResponseState,
        waits: InterruptibleWaits,
    ) -> None:
        self.request_seconds = 0.0
        """How long the last message took to send."""
        self.has_waited = False
        """Whether the last message waited, so that others could run meanwhile."""
        self._max_backlog_ms = max_backlog_ms
        self._queue = queue
        self._response = response
        self._waits = waits

    def moments(self) -> list[float]:
        """Return when each waiting message would be sent if there were no rate limit."""
        now, previous = self._waits.now(), self._response.last_sent_at
        if not self._waits.simulates:
            return [now] * len(self._queue)
        fit([waiting.wait for waiting in self._queue], self._backlog_ms())
        at, moments = previous, list[float]()
        for item in self._queue:
            at = now if at is None else max(now, at + item.wait.total_ms / 1000)
            moments.append(at)
            at += self.request_seconds
        return moments

    async def wait(self, item: OutgoingMessage) -> None:
        self.has_waited = False
        previous = self._response.last_sent_at
        if previous is None or not self._waits.simulates:
            return
        fit([waiting.wait for waiting in self._queue], self._backlog_ms())
        leave_at = previous + item.wait.total_ms / 1000
        left = leave_at - self._waits.now()
        pause = left - item.wait.typing_ms * item.wait.scale / 1000
        if pause > 0:
            await self._waits.pause(pause)
            left = leave_at - self._waits.now()
        if left >= 0.001 and self._waits.simulates:
            self.has_waited = True
            typing = self._waits.pause(left)
            if left >= SHORTEST_SHOWN_SECONDS:
                typing = self._response.indicator.show_during(typing, left)
            await typing

    def _backlog_ms(self) -> float:
        """Return how long the simulated waits of all waiting messages may take together.

        The backlog of a long answer is kept small, and once the model has ended its time
        runs out, requests included.
        """
        ended_at = self._queue.closed_at
        if ended_at is None:
            long = self._response.sent >= SHORT_ANSWER
            return self._max_backlog_ms * (WRITING_SHARE if long else 1)
        requests_s = len(self._queue) * self.request_seconds
        return max(0.0, self._max_backlog_ms - (self._waits.now() - ended_at + requests_s) * 1000)
