"""Keeps the typing indicator alive while an answer is under way (spec 07).

Discord shows it for ten seconds, and a message of the bot ends it. So it is asked for again before
the ten seconds are over, and when nothing follows a message. It never blocks a message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from oshaberi.delivery.sink import Sink

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 8.0
"""Discord shows the indicator for ten seconds."""
QUIET_SECONDS = 0.75
"""How long after a message it is shown again. With the request it is less than a second."""
EDITED_QUIET_SECONDS = 1.75
"""The same where a message grows by edits. They come once a second, a little more slowly when
Discord limits them, and do not end the indicator: it would still be there after the last one."""
GRACE_SECONDS = 0.9
"""How long to wait for a message that is being sent. An indicator that arrives before the message
ends with it; one that arrives after it stays for ten seconds."""


class TypingIndicator:
    """The indicator of one response: off until `keep_alive`, off again after `rest`."""

    def __init__(self) -> None:
        self.quiet_seconds = QUIET_SECONDS
        self._sink: Sink | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None
        self._asked_at: float | None = None
        self._sending_since: float | None = None
        self._held_until = 0.0

    @property
    def is_on(self) -> bool:
        return self._sink is not None

    def keep_alive(self, sink: Sink, *, after_seconds: float = 0.0) -> None:
        """Show the indicator from now on, or from then on if nothing has been shown by then."""
        if self.is_on and (self._asked_at is not None or after_seconds):
            return
        self._sink = sink
        self._set(after_seconds)

    def hold(self, seconds: float) -> None:
        """Do not show it before so many seconds have passed, whoever asks for it."""
        self._held_until = _now() + seconds

    def rest(self) -> None:
        """Ask for it no more: the answer has ended, or nothing more will come."""
        self._sink = self._asked_at = None
        if self._timer is not None:
            self._timer.cancel()
        if self._asking is not None:
            self._asking.cancel()

    async def close(self) -> None:
        self.rest()
        await _end(self._asking)

    @contextmanager
    def message_on_the_way(self) -> Iterator[None]:
        """Hold the indicator back for a moment, while a message may arrive."""
        self._sending_since = _now()
        try:
            yield
        finally:
            self._sending_since = None

    def message_came(self) -> None:
        """Note a message of ours, which has ended the indicator."""
        self._asked_at = None
        if self.is_on:
            self._set(self.quiet_seconds)

    def message_grew(self) -> None:
        """Note an edit. The indicator is not needed for a while, but still shown if it was."""
        if self.is_on:
            shown_until = _now() if self._asked_at is None else self._asked_at + KEEP_ALIVE_SECONDS
            self._set(max(self.quiet_seconds, shown_until - _now()))

    @asynccontextmanager
    async def shown(self, seconds: float) -> AsyncIterator[None]:
        """Show it before a paced message."""
        if self._sink is None:
            yield
            return
        self._note_asked()
        task = asyncio.create_task(_show(self._sink, round(seconds * 1000)))
        try:
            yield
        finally:
            await _end(task)

    def _set(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._due)
        else:
            self._due()

    def _due(self) -> None:
        if self._sink is None:
            return
        if (left := self._held_until - _now()) > 0:
            self._set(left)
            return
        since = self._sending_since
        if since is not None and (left := since + GRACE_SECONDS - _now()) > 0:
            self._set(left)
            return
        self._note_asked()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(_show(self._sink, None))

    def _note_asked(self) -> None:
        self._asked_at = _now()
        self._set(KEEP_ALIVE_SECONDS)


async def _show(sink: Sink, ms: int | None) -> None:
    try:
        await sink.typing(ms)
    except Exception as error:
        # A reader who sees no indicator still gets the message.
        log.debug("no typing indicator: %s", error)


async def _end(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task}, timeout=1)


def _now() -> float:
    return asyncio.get_running_loop().time()
