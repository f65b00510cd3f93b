"""Keeps stop requests per channel, wakes who waits for one, and ends the work of a stopped turn.

Only an active channel can be stopped: a stop for an idle one is refused, never kept for later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

RequestReason = Literal["user_request", "system_request"]
StopAnswer = Literal["stopped", "not_yours", "idle"]

SETTLE_SECONDS = 0.7
"""How long the reply to a stop waits for the last of the text, so that it appears below it."""
LAST_WORDS_SECONDS = 0.02
"""How long cancelled work may take to end before the turn goes on without it."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """A stop, or (with `follow_up`) a new message that replaces the running answer.

    `at_boundary`: the process ends. Finished text is still sent, half a sentence is not.
    """

    by: str
    reason: RequestReason = "user_request"
    follow_up: bool = False
    at_boundary: bool = False


class InterruptedTurnError(Exception):
    """A stop was requested; it has been consumed."""

    def __init__(self, request: StopRequest) -> None:
        super().__init__(request.reason)
        self.request = request


def _urgency(request: StopRequest) -> int:
    if request.follow_up:
        return 0
    return 1 if request.at_boundary else 2


class ActiveChannel:
    """One channel with a running turn."""

    def __init__(self, user: str | None) -> None:
        self.user = user
        self.pending: StopRequest | None = None
        self.depth = 0
        self.is_ending = False
        """Whether there was a request since the channel became active, even if it has been
        consumed."""
        self.quiet = asyncio.Event()
        """Set while nobody who could still send something listens."""
        self.quiet.set()
        self._listeners: list[Callable[[], None]] = []
        self._is_hurried = False
        self._hurriers: list[Callable[[], None]] = []

    def hurry(self) -> None:
        """End the simulated waits of the turn, this stream's and later ones': others wait."""
        self._is_hurried = True
        for hurry in list(self._hurriers):
            hurry()

    def end_hurry(self) -> None:
        """Let the next turn of the channel take its time again."""
        self._is_hurried = False

    @contextmanager
    def hurried_by(self, hurry: Callable[[], None]) -> Iterator[None]:
        """Call `hurry` when the turn is hurried, or at once if it already is."""
        self._hurriers.append(hurry)
        try:
            if self._is_hurried:
                hurry()
            yield
        finally:
            self._hurriers.remove(hurry)

    def consume(self) -> StopRequest | None:
        request, self.pending = self.pending, None
        return request

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call the listener when a request comes, or at once if one is there."""
        self._listeners.append(listener)
        self.quiet.clear()
        try:
            if self.pending is not None:
                listener()
            yield
        finally:
            self._listeners.remove(listener)
            if not self._listeners:
                self.quiet.set()

    def check(self) -> None:
        """Raise InterruptedTurnError if a stop was requested."""
        request = self.consume()
        if request is not None:
            raise InterruptedTurnError(request)

    async def until_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work. If a stop comes first, cancel the work and raise."""
        task = asyncio.create_task(work)
        over = asyncio.get_running_loop().create_future()

        def end(_task: object = None) -> None:
            if not over.done():
                over.set_result(None)

        task.add_done_callback(end)
        try:
            with self.heard_by(end):
                await over
            if not task.done() or self.pending is not None:
                self.check()
            return await task
        finally:
            await _end(task)

    def store(self, request: StopRequest) -> None:
        """Store a request. A stop beats the end of the process, which beats a follow-up.

        Among equals the first wins (spec 04 O2).
        """
        if self.pending is None or _urgency(request) > _urgency(self.pending):
            self.pending = request
        self.is_ending = True
        for listener in list(self._listeners):
            listener()


async def _end(task: asyncio.Task[T]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=LAST_WORDS_SECONDS)
    if not task.done():
        log.warning("cancelled work does not end; the turn goes on without it")
        task.add_done_callback(_retrieve_error)
    else:
        _retrieve_error(task)


def _retrieve_error(task: asyncio.Task[T]) -> None:
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it


class StopRegistry:
    """All active channels of this process."""

    def __init__(self) -> None:
        self._channels: dict[str, ActiveChannel] = {}

    @contextmanager
    def active(self, channel: str, user: str | None = None) -> Iterator[ActiveChannel]:
        """Keep a channel active from admission to the end of the turn. May be nested."""
        entry = self._channels.setdefault(channel, ActiveChannel(user))
        entry.depth += 1
        try:
            yield entry
        finally:
            entry.depth -= 1
            if entry.depth == 0:
                del self._channels[channel]

    def request_stop(self, channel: str, by: str, reason: RequestReason = "user_request") -> bool:
        """Request a stop. Return whether there was something to stop."""
        return self._request(channel, StopRequest(by, reason))

    def request_stop_as(
        self,
        channel: str,
        by: str,
        reason: RequestReason = "user_request",
        *,
        may_manage: bool = True,
    ) -> StopAnswer:
        """Request a stop for a user. Without `may_manage` only the turn's own user can stop it."""
        entry = self._channels.get(channel)
        if entry is None:
            return "idle"
        if not may_manage and entry.user not in (None, by):
            return "not_yours"
        entry.store(StopRequest(by, reason))
        return "stopped"

    async def request_stop_anywhere(
        self,
        channel: str,
        by: str,
        reason: RequestReason = "user_request",
        *,
        may_manage: bool = True,
    ) -> StopAnswer:
        """Request a stop in any process (here this one only).

        Returns when the closing flush is sent, or takes too long.
        """
        answer = self.request_stop_as(channel, by, reason, may_manage=may_manage)
        if answer == "stopped":
            await self.settled(channel)
        return answer

    async def settled(self, channel: str) -> None:
        """Wait until the closing flush after a stop is sent (spec 04 O1), for a limited time."""
        entry = self._channels.get(channel)
        if entry is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_SECONDS):
                    await entry.quiet.wait()

    def request_end(self, channel: str) -> bool:
        """Ask the answer to end at the next clean boundary: the process ends."""
        return self._request(channel, StopRequest("shutdown", "system_request", at_boundary=True))

    def request_follow_up(self, channel: str, by: str) -> bool:
        """Request an interruption. Only the turn's own user can (spec 04 O2a).

        Returns whether it interrupts.
        """
        entry = self._channels.get(channel)
        if entry is None or entry.user not in (None, by):
            return False
        return self._request(channel, StopRequest(by, follow_up=True))

    def peek(self, channel: str) -> StopRequest | None:
        entry = self._channels.get(channel)
        return None if entry is None else entry.pending

    def consume(self, channel: str) -> StopRequest | None:
        entry = self._channels.get(channel)
        return None if entry is None else entry.consume()

    def _request(self, channel: str, request: StopRequest) -> bool:
        entry = self._channels.get(channel)
        if entry is None:
            return False
        entry.store(request)
        return True
