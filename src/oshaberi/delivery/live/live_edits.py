"""Live mode: edits the growing message, and removes text that was shown but not kept.

In the end every message shows exactly its kept text, and a message without any is deleted: the
final state does not depend on what was shown meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from oshaberi.delivery.bookkeeping.delivery_record import DeliveryRecord
from oshaberi.delivery.live.edit_pace import EDIT_SECONDS, EditPace
from oshaberi.delivery.live.live_mode import LiveMessage, LiveMode
from oshaberi.delivery.posting.message_edits import MessageEdits
from oshaberi.delivery.posting.message_poster import MessagePoster
from oshaberi.delivery.posting.outcome_handling import OutcomeHandler
from oshaberi.delivery.posting.send_outcome import (
    Broken,
    Delivered,
    EditOutcome,
    Gone,
    NoWebhook,
    Outcome,
    Refused,
    Uncertain,
)
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import Post, Sent
from oshaberi.events import Identity, Message

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.05
"""The pause while there is nothing to show yet: the first words should not wait for a second."""
QUICK_LOOKS = 20
"""How many quick looks in a row. Then one a second, for example while a table is written."""


class LiveEdits:
    """Carries out what `LiveMode` decides."""

    def __init__(
        self,
        limit: int,
        edits: MessageEdits,
        poster: MessagePoster,
        response: ResponseState,
        delivery_record: DeliveryRecord,
        turns: EditPace,
        outcomes: OutcomeHandler,
    ) -> None:
        self.live = LiveMode(limit)
        self._edits = edits
        self._poster = poster
        self._response = response
        self._delivery_record = delivery_record
        self._turns = turns
        self._outcomes = outcomes
        self._text_came = False
        self._rests = False
        self._looked_at = float("-inf")
        self._vain_looks = 0
        self._doubted: list[str] = []

    # -- finished text --------------------------------------------------------------------------

    def began(self, sent: Sent, post: Post, identity: Identity | None) -> None:
        """Note a new message that may grow from now on."""
        self._rests = False
        self.live.last = LiveMessage(sent, post, identity, _now(), post.content)

    @property
    def in_doubt(self) -> bool:
        """Tell whether unfinished text may be in a message that we do not know."""
        return bool(self._doubted)

    def may_be_there(self, text: str) -> bool:
        """Tell whether the text was begun in a message that may have arrived."""
        if not self._doubted:
            return False
        words = text.split()
        if self._doubted[:1] != words[:1]:
            self._doubted = []
            return False
        del self._doubted[: len(words)]
        return True

    async def take(self, live: LiveMessage, queue: MessageQueue) -> Broken | None:
        """Add all waiting messages that fit, in one edit."""
        if live is self.live.last and self.live.draft is not None:
            await self._take_away(self.live.draft)
        text, items = live.post.content, []
        while queue:
            longer = self.live.with_item(live, text, next(iter(queue)))
            if longer is None:
                break
            text = longer
            items.append(queue.take())
        self._rests = False
        outcome = await self._change(live, text)
        if isinstance(outcome, Delivered):
            live.post = replace(live.post, content=text)
            if live is self.live.draft:
                self.live.last, self.live.draft = live, None
        return self._outcomes.settle(items, outcome, edited=True)

    # -- unfinished text ------------------------------------------------------------------------

    def text_came(self) -> bool:
        """Note new text. Return whether the waiting sender must be woken to show it."""
        first, self._text_came = not self._text_came, True
        return first and not self._rests

    @property
    def due_at(self) -> float | None:
        """Return when unfinished text may be shown next; None if there is nothing new."""
        if self._rests or not self._text_came:
            return None
        again = EDIT_SECONDS if self._vain_looks > QUICK_LOOKS else LOOK_SECONDS
        shown = (live for live in (self.live.last, self.live.draft) if live)
        return max((self._looked_at + again, *map(self._turns.due_at, shown)))

    def next_at(self, *, is_text_waiting: bool) -> float | None:
        """Return when a message is edited next; None if there is nothing new to be read."""
        is_new = self._text_came and not self._rests and self._vain_looks == 0
        shown = [live for live in (self.live.last, self.live.draft) if live]
        if not shown or not (is_new or is_text_waiting):
            return None
        return max(map(self._turns.due_at, shown))

    async def show(
        self, preview: Callable[[], Sequence[Message]], may_begin: bool, silent: bool
    ) -> Broken | None:
        """Show the unfinished text, in one edit or a new message."""
        self._text_came, self._looked_at = False, _now()
        self._vain_looks += 1
        try:
            parts = preview()
        except Exception:
            # Only a look ahead: the finished text does not depend on it.
            log.exception("the unfinished text could not be shown")
            self._rests = True
            return None
        if not parts:
            return None
        live, text = self.live.place_of(parts)
        if live is not None:
            self._vain_looks = 0
            return await self._show_in(live, text)
        if not text or not may_begin:
            return None
        self._vain_looks = 0
        broken = await self.correct()
        return broken or await self._begin(text, parts[0].identity, silent)

    async def _show_in(self, live: LiveMessage, text: str) -> Broken | None:
        if live is self.live.last and self.live.draft is not None:
            await self._take_away(self.live.draft)
        return self._shown(await self._change(live, text))

    async def _begin(self, text: str, identity: Identity | None, silent: bool) -> Broken | None:
        before, noticed = self._response.spoken_as, len(self._response.notices)
        outcome, post = await self._poster.draft(text, identity, silent=silent)
        if isinstance(outcome, Delivered):
            kept = replace(post, content="")
            notice = next(iter(self._response.notices[noticed:]), None)
            self.live.draft = LiveMessage(
                outcome.sent, kept, identity, _now(), text, before, notice
            )
        elif isinstance(outcome, Uncertain):
            self._doubted = text.split()
        return self._shown(outcome)

    def _shown(self, outcome: Outcome | EditOutcome) -> Broken | None:
        """Handle the outcome. A refusal is no failure: the finished text may be accepted."""
        self._rests = isinstance(outcome, Refused | NoWebhook | Uncertain)
        if isinstance(outcome, Delivered | Refused | NoWebhook):
            return None
        return self._outcomes.settle([], outcome)

    # -- making it right ------------------------------------------------------------------------

    async def correct(self, *, at_once: bool = False) -> Broken | None:
        """Remove text that is shown but not kept."""
        if self.live.draft is not None:
            broken = await self._take_away(self.live.draft)
            if broken:
                return broken
        last = self.live.last
        if last is None or not last.differs:
            return None
        if not (at_once or await self._turns.wait(last)):
            return None
        outcome = await self._change(last, last.post.content)
        return self._corrected(last, outcome)

    async def _take_away(self, live: LiveMessage) -> Broken | None:
        outcome = await self._edits.delete(live.sent)
        if isinstance(outcome, Delivered | Gone):
            self.live.forget(live)
            self._delivery_record.taken_away(live.sent)
            self._response.spoken_as = live.spoken_before
            if live.post.reply or await self._without_notice(live):
                self._response.replied = False
            return None
        return self._corrected(live, outcome)

    async def _without_notice(self, live: LiveMessage) -> bool:
        """Delete the message's reply notice too. Return whether that was done."""
        if live.notice is None:
            return False
        outcome = await self._edits.delete(live.notice)
        if not isinstance(outcome, Delivered | Gone):
            return False
        self._response.notices.remove(live.notice)
        return True

    def _corrected(self, live: LiveMessage, outcome: EditOutcome) -> Broken | None:
        if isinstance(outcome, Refused):
            log.warning("unfinished text could not be taken back: %s", outcome.error)
            self.live.forget(live)
        if isinstance(outcome, Delivered | Refused):
            return None
        return self._outcomes.settle([], outcome)

    async def _change(self, live: LiveMessage, text: str) -> EditOutcome:
        if text == live.shown:
            return Delivered(live.sent)
        outcome = await self._edits.edit(live.sent, replace(live.post, content=text))
        if isinstance(outcome, Delivered):
            live.shown, live.changed_at = text, _now()
        elif isinstance(outcome, Gone):
            self.live.forget(live)
        return outcome


def _now() -> float:
    return asyncio.get_running_loop().time()
