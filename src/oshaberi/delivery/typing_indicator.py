"""The typing indicator: when it is shown, how it is kept alive, and when it ends (spec 07).

Discord shows it for ten seconds, and a message of the bot ends it. So it is asked for again before
the ten seconds are over, and when nothing follows a message. It never blocks a message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from oshaberi.clocks import Clock, has_come, loop_clock
from oshaberi.delivery.sink import Sink

log = logging.getLogger(__name__)


KEEP_ALIVE_SECONDS = 8.0
"""How often the request is repeated. Discord shows the indicator for ten seconds."""
QUIET_SECONDS = 0.75
"""How long after a message it is shown again. With the request it is less than a second."""
LONGEST_SILENCE_SECONDS = 0.95
"""When it is shown although a message is being sent: the next one would end it anyway."""
GRACE_SECONDS = 0.9
"""How long to wait for the last message while it is sent, and for every edit. An indicator that
arrives before the last message ends with it; one that arrives after it stays for ten seconds."""
EDIT_QUIET_SECONDS = 0.9
"""How long after an edit it is shown, unless the next edit is due. Edits come once a second."""
EDIT_LATE_SECONDS = 1.5
"""How long after the last news to wait for an edit that Discord's limits delay."""
EDIT_MARGIN_SECONDS = 0.05
"""An edit that is due now will have been sent after this many seconds."""


async def ask_for_typing(sink: Sink, ms: int | None) -> None:
    """Ask the sink for the indicator. It blocks no message, and a failure is only noted."""
    try:
        await sink.typing(ms)
    except Exception as error:
        # A reader who sees no indicator still gets the message.
        log.debug("no typing indicator: %s", error)


async def ask_during(wait: Coroutine[Any, Any, None], sink: Sink, seconds: float) -> None:
    """Ask for the indicator at the beginning of a wait of `seconds`.

    The request ends with the wait.
    """
    asking = asyncio.create_task(ask_for_typing(sink, round(seconds * 1000)))
    try:
        await wait
    finally:
        await end_asking(asking)


async def end_asking(asking: asyncio.Task[None] | None) -> None:
    if asking is not None and not asking.done():
        asking.cancel()
        await asyncio.wait({asking}, timeout=1)


class TypingIndicator:
    """The indicator of one response: off until `keep_alive`, off again after `rest`."""

    def __init__(self) -> None:
        self.awaits_words = False
        """Whether it is shown only after `words_came`: nobody asked, so there may be no answer."""
        self._next_edit_at: Callable[[], float | None] | None = None
        self._is_last_message: Callable[[], bool] = _goes_on
        self._clock: Clock | None = None
        self._loop: asyncio.AbstractEventLoop
        self._sink: Sink | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = 0.0
        self._asking: asyncio.Task[None] | None = None
        self._asked_at: float | None = None
        self._news_at = float("-inf")
        self._sending_since: float | None = None
        self._grows = False
        self._held_until = 0.0

    @property
    def is_on(self) -> bool:
        return self._sink is not None

    def keep_alive(self, sink: Sink, *, after_seconds: float = 0.0) -> None:
        """Show the indicator from now on, or from then on if nothing has been shown by then."""
        if self.is_on and (self._asked_at is not None or after_seconds):
            return
        self._sink = sink
        self._loop, self._clock = asyncio.get_running_loop(), loop_clock()
        self._news_at = self._now()
        self._set(after_seconds)

    def follow(
        self,
        is_last_message: Callable[[], bool],
        next_edit_at: Callable[[], float | None] | None,
    ) -> None:
        """Follow a delivery.

        `is_last_message` returns whether the message that is being sent ends the answer;
        `next_edit_at`, in live mode, when the growing message is edited next, None if nothing is
        new.
        """
        self._is_last_message, self._next_edit_at = is_last_message, next_edit_at

    def hold(self, seconds: float) -> None:
        """Do not show it before this many seconds have passed, no matter who asks for it."""
        self._held_until = self._now() + seconds

    def words_came(self) -> None:
        """Show it from now on, because the model says something, unless a message comes first."""
        self.awaits_words = False
        if self.is_on:
            self._set(QUIET_SECONDS)

    def rest(self) -> None:
        """Stop asking for it: the answer has ended, or nothing more will come."""
        self._sink = self._asked_at = None
        self._forget_timer()
        if self._asking is not None:
            self._asking.cancel()

    def close(self) -> Coroutine[Any, Any, None]:
        """End the indicator. Await the result, which is the end of a request under way."""
        self.rest()
        self._next_edit_at, self._is_last_message = None, _goes_on
        return end_asking(self._asking)

    def message_leaves(self, *, grows: bool = False) -> None:
        """Hold the indicator back for a moment, while a message or an edit may arrive."""
        self._sending_since, self._grows = self._now(), grows

    def message_is_settled(self) -> None:
        """Note that the edit has arrived, or that the message or the edit did not."""
        self._sending_since = None

    def message_came(self) -> None:
        """Note a message of ours, which has ended the indicator."""
        self._asked_at = self._sending_since = None
        self._news_at = self._now()
        if self.is_on:
            self._set(self._quiet_seconds)

    def message_grew(self) -> None:
        """Note an edit. The indicator is not needed for a while, but still shown if it was."""
        now = self._news_at = self._now()
        if self.is_on:
            shown_until = now if self._asked_at is None else self._asked_at + KEEP_ALIVE_SECONDS
            self._set(max(self._quiet_seconds, shown_until - now))

    def show_during(
        self, wait: Coroutine[Any, Any, None], seconds: float
    ) -> Coroutine[Any, Any, None]:
        """Return the wait of `seconds` before a paced message, with the indicator if it is on."""
        if self._sink is None:
            return wait
        self._note_asked()
        return ask_during(wait, self._sink, seconds)

    def _now(self) -> float:
        if self._clock is None:
            self._clock = loop_clock()
        return self._clock()

    @property
    def _quiet_seconds(self) -> float:
        return QUIET_SECONDS if self._next_edit_at is None else EDIT_QUIET_SECONDS

    def _sent_at(self) -> float:
        """Return until when to wait for a message on its way."""
        if self._sending_since is None:
            return float("-inf")
        late = self._sending_since + GRACE_SECONDS
        if self._grows or self._is_last_message():
            return late
        return min(late, self._news_at + LONGEST_SILENCE_SECONDS)

    def _edited_at(self) -> float:
        """Return when the next edit has been sent, if it comes soon."""
        due = None if self._next_edit_at is None else self._next_edit_at()
        soon = due is not None and due <= self._news_at + EDIT_LATE_SECONDS
        return due + EDIT_MARGIN_SECONDS if due is not None and soon else float("-inf")

    def _set(self, seconds: float) -> None:
        """Show it in this many seconds. A timer that fires too early is set again."""
        if seconds <= 0:
            self._forget_timer()
            self._due()
            return
        self._due_at = self._now() + seconds
        if self._timer is not None and self._timer.when() > self._due_at:
            self._forget_timer()
        if self._timer is None:
            self._set_timer()

    def _set_timer(self) -> None:
        """Set the timer early enough that a message need not set it again."""
        at = min(self._due_at, self._now() + QUIET_SECONDS)
        self._timer = self._loop.call_at(at, self._ring)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        if not has_come(self._due_at, self._now()):
            self._set_timer()
        else:
            self._due()

    def _due(self) -> None:
        if self._sink is None or self.awaits_words:
            return
        now, until = self._now(), max(self._held_until, self._sent_at(), self._edited_at())
        if not has_come(until, now):
            self._set(until - now)
            return
        self._note_asked()
        if self._asking is None or self._asking.done():
            self._asking = self._loop.create_task(ask_for_typing(self._sink, None))

    def _note_asked(self) -> None:
        self._asked_at = self._now()
        self._set(KEEP_ALIVE_SECONDS)


def _goes_on() -> bool:
    return False
