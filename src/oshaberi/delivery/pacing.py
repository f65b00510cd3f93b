"""How long a person would type a message, and the wait until the next one is typed.

`rate_limit_waits` is the other reason why a message waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.queue import MessageQueue, Wait
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.waits import InterruptibleWaits

SHORT_ANSWER = 3
"""An answer of this many messages will most likely have more."""
WRITING_SHARE = 0.5
"""The share of the longest backlog that is allowed while the model still writes a long answer."""

SHORTEST_SHOWN_SECONDS = 0.15
"""A shorter wait shows no indicator: nobody would see it, and Discord limits the requests."""

CODE_FACTOR = 1.25
"""A code block takes at least this many times the shortest typing time."""


def typing_ms(text: str, config: StreamConfig) -> float:
    shortest = float(config.min_visible_typing_duration_ms)
    if text.startswith("```"):
        shortest *= CODE_FACTOR
    typed = len(text) * config.base_type_speed_ms_per_char
    return min(max(typed, shortest), config.max_typing_time_ms)


def table_typing_ms(config: StreamConfig) -> float:
    return min(config.min_visible_typing_duration_ms, config.max_typing_time_ms)


def pause_ms(number: int, config: StreamConfig) -> float:
    """Return the thinking pause before a message in ms; mostly 0."""
    if _drawn("chance", number, config) >= config.thinking_pause_chance:
        return 0
    least, most = config.min_random_pause_ms, config.max_random_pause_ms
    return least + int(_drawn("pause", number, config) * (most - least + 1))


def _drawn(what: str, number: int, config: StreamConfig) -> float:
    """Return a number from 0 up to 1. Seeding a `random.Random` would take ten times as long."""
    source = f"pace {what} {config.text.seed} {number}".encode()
    return int.from_bytes(blake2b(source, digest_size=4).digest()) / 2**32


def fit(waits: Sequence[Wait], most_ms: float) -> None:
    """Scale the waits of a queue so that together they take at most `most_ms`."""
    total = sum([wait.total_ms for wait in waits])
    if total <= most_ms:
        return
    for wait in waits:
        wait.scale *= most_ms / total


class TypingWaits:
    """Waits as long as a person would have typed the next message (spec 07, typing simulation).

    This is the pace of degrees 2 and 3. The model's own time counts.
    """

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
        """Return when each waiting message would be sent without a rate limit."""
        now, at = self._waits.now(), self._response.last_sent_at
        waits = [waiting.wait for waiting in self._queue.items]
        if not self._waits.simulates:
            return [now] * len(waits)
        fit(waits, self._backlog_ms(len(waits)))
        moments: list[float] = []
        for wait in waits:
            at = now if at is None else max(now, at + wait.total_ms / 1000)
            moments.append(at)
            at += self.request_seconds
        return moments

    async def wait(self) -> None:
        """Wait until the first waiting message would have been typed, with the indicator shown."""
        self.has_waited = False
        previous = self._response.last_sent_at
        if previous is None or not self._waits.simulates:
            return
        waits = [waiting.wait for waiting in self._queue.items]
        fit(waits, self._backlog_ms(len(waits)))
        leave_at = previous + waits[0].total_ms / 1000
        left = leave_at - self._waits.now()
        pause = left - waits[0].typing_ms * waits[0].scale / 1000
        if pause > 0:
            await self._waits.pause(pause)
            left = leave_at - self._waits.now()
        if left >= 0.001 and self._waits.simulates:
            self.has_waited = True
            typing = self._waits.pause(left)
            if left >= SHORTEST_SHOWN_SECONDS:
                typing = self._response.indicator.show_during(typing, left)
            await typing

    def _backlog_ms(self, count: int) -> float:
        """Return how long the simulated waits of all `count` messages may take together.

        The backlog of a long answer is kept small, and once the model has ended its time
        runs out, requests included.
        """
        ended_at = self._queue.closed_at
        if ended_at is None:
            long = self._response.sent >= SHORT_ANSWER
            return self._max_backlog_ms * (WRITING_SHARE if long else 1)
        requests_s = count * self.request_seconds
        return max(0.0, self._max_backlog_ms - (self._waits.now() - ended_at + requests_s) * 1000)
