"""Keeps stop requests per channel and wakes everybody who waits for one.

Only an active channel can be stopped: a stop for an idle one is refused, never kept for later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

RequestReason = Literal["user_request", "system_request"]
StopAnswer = Literal["stopped", "not_yours", "idle"]

SETTLE_SECONDS = 0.7
"""How long an answer to a stop waits for the last of the text, so that it stands below it."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """A stop, or (with `follow_up`) a new message that replaces the answer under way."""

    by: str
    reason: RequestReason = "user_request"
    follow_up: bool = False


class ActiveChannel:
    """One channel while a turn runs in it."""

    def __init__(self, user: str | None) -> None:
        self.user = user
        self.pending: StopRequest | None = None
        self.depth = 0
        self.quiet = asyncio.Event()
        """Set while nobody who could still send something listens."""
        self.quiet.set()
        self._listeners: list[Callable[[], None]] = []

    def consume(self) -> StopRequest | None:
        request, self.pending = self.pending, None
        return request

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call the listener when a request comes, or at once if one is already there."""
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

    def put(self, request: StopRequest) -> None:
        """A stop beats a follow-up; the first of equals wins (spec 04 O2)."""
        beaten = self.pending is not None and self.pending.follow_up and not request.follow_up
        if self.pending is None or beaten:
            self.pending = request
        for listener in list(self._listeners):
            listener()


class StopRegistry:
    """All active channels of this process."""

    def __init__(self) -> None:
        self._channels: dict[str, ActiveChannel] = {}

    @contextmanager
    def active(self, channel: str, user: str | None = None) -> Iterator[ActiveChannel]:
        """From admission to the end of the turn. May be nested: a turn holds its streams."""
        entry = self._channels.setdefault(channel, ActiveChannel(user))
        entry.depth += 1
        try:
            yield entry
        finally:
            entry.depth -= 1
            if entry.depth == 0:
                del self._channels[channel]

    def is_active(self, channel: str) -> bool:
        return channel in self._channels

    def request_stop(self, channel: str, by: str, reason: RequestReason = "user_request") -> bool:
        """Whether there was something to stop."""
        return self._put(channel, StopRequest(by, reason))

    def request_stop_as(
        self,
        channel: str,
        by: str,
        reason: RequestReason = "user_request",
        *,
        may_manage: bool = True,
    ) -> StopAnswer:
        """The same for somebody who may be allowed to stop nothing but their own turn."""
        entry = self._channels.get(channel)
        if entry is None:
            return "idle"
        if not may_manage and entry.user not in (None, by):
            return "not_yours"
        entry.put(StopRequest(by, reason))
        return "stopped"

    async def request_stop_anywhere(
        self,
        channel: str,
        by: str,
        reason: RequestReason = "user_request",
        *,
        may_manage: bool = True,
    ) -> StopAnswer:
        """The same for a turn in any process (here there is only this one), with its last words.

        The answer comes when the closing flush is out, or takes too long.
        """
        answer = self.request_stop_as(channel, by, reason, may_manage=may_manage)
        if answer == "stopped":
            await self.settled(channel)
        return answer

    async def settled(self, channel: str) -> None:
        """Until what a stop still lets out has left (spec 04 O1); not for long."""
        entry = self._channels.get(channel)
        if entry is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_SECONDS):
                    await entry.quiet.wait()

    def request_follow_up(self, channel: str, by: str) -> bool:
        """Whether it interrupts: only the turn's own user does (spec 04 O2a)."""
        entry = self._channels.get(channel)
        if entry is None or entry.user not in (None, by):
            return False
        return self._put(channel, StopRequest(by, follow_up=True))

    def peek(self, channel: str) -> StopRequest | None:
        entry = self._channels.get(channel)
        return None if entry is None else entry.pending

    def consume(self, channel: str) -> StopRequest | None:
        entry = self._channels.get(channel)
        return None if entry is None else entry.consume()

    def _put(self, channel: str, request: StopRequest) -> bool:
        entry = self._channels.get(channel)
        if entry is None:
            return False
        entry.put(request)
        return True
