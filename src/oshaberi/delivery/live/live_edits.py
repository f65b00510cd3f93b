"""Live mode: edits the growing message, and removes what was shown but not kept.

In the end every message shows exactly what is kept of it, and one of which nothing is kept is
taken away: the final state does not depend on what was shown on the way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from oshaberi.delivery.bookkeeping.delivery_record import DeliveryRecord
from oshaberi.delivery.live.live_mode import EDIT_SECONDS, LiveMessage, LiveMode
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.exactly_once import ExactlyOnceSender
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


class LiveEdits:
    """The doing to `Live`'s thinking."""

    def __init__(
        self,
        limit: int,
        sender: ExactlyOnceSender,
        poster: MessagePoster,
        response: ResponseState,
        delivery_record: DeliveryRecord,
        waits: InterruptibleWaits,
        outcomes: OutcomeHandler,
    ) -> None:
        self.live = LiveMode(limit)
        self._sender = sender
        self._poster = poster
        self._response = response
        self._delivery_record = delivery_record
        self._waits = waits
        self._outcomes = outcomes
        self._text_came = False
        self._rests = False
        self._tried_at = float("-inf")
        self._doubted: list[str] = []

    # -- finished text --------------------------------------------------------------------------

    def began(self, sent: Sent, post: Post, identity: Identity | None) -> None:
        """A new message was sent, which may grow from now on."""
        self._rests = False
        self.live.last = LiveMessage(sent, post, identity, _now(), post.content)

    @property
    def in_doubt(self) -> bool:
        """Unfinished text may be in a message that nobody knows."""
        return bool(self._doubted)

    def may_be_there(self, text: str) -> bool:
        """Whether it was begun in a message of which nobody can say if it arrived."""
        words = text.split()
        if not self._doubted or self._doubted[:1] != words[:1]:
            self._doubted = []
            return False
        del self._doubted[: len(words)]
        return True

    async def take(self, live: LiveMessage, queue: MessageQueue) -> Broken | None:
        """One edit with everything that waits and fits."""
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
        """Whether whoever waits has to be told that there may be something to show."""
        first, self._text_came = not self._text_came, True
        return first and not self._rests

    @property
    def due_at(self) -> float | None:
        """When unfinished text may be shown next; None if nothing has come since."""
        if self._rests or not self._text_came:
            return None
        changes = (live.changed_at for live in (self.live.last, self.live.draft) if live)
        return max(self._tried_at, *changes, float("-inf")) + EDIT_SECONDS

    async def show(
        self, preview: Callable[[], Sequence[Message]], may_begin: bool, silent: bool
    ) -> Broken | None:
        """Show what there is of the unfinished text, in one edit or a new message."""
        self._text_came, self._tried_at = False, _now()
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
            return await self._show_in(live, text)
        if not text or not may_begin:
            return None
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
        """What is refused now may pass when it is finished, so it is no failure."""
        self._rests = isinstance(outcome, Refused | NoWebhook | Uncertain)
        if isinstance(outcome, Delivered | Refused | NoWebhook):
            return None
        return self._outcomes.settle([], outcome)

    # -- making it right ------------------------------------------------------------------------

    async def correct(self, *, at_once: bool = False) -> Broken | None:
        """What is shown and not kept goes."""
        if self.live.draft is not None:
            broken = await self._take_away(self.live.draft)
            if broken:
                return broken
        last = self.live.last
        if last is None or not last.differs:
            return None
        if not (at_once or await self._waits.hold(last.wait_from(_now()))):
            return None
        outcome = await self._change(last, last.post.content)
        return self._corrected(last, outcome)

    async def _take_away(self, live: LiveMessage) -> Broken | None:
        outcome = await self._sender.delete(live.sent)
        if isinstance(outcome, Delivered | Gone):
            self.live.forget(live)
            self._delivery_record.taken_away(live.sent)
            self._response.spoken_as = live.spoken_before
            if live.post.reply or await self._without_notice(live):
                self._response.replied = False
            return None
        return self._corrected(live, outcome)

    async def _without_notice(self, live: LiveMessage) -> bool:
        """Whether a notice went with its message, so that the answer is yet to say whose it is."""
        if live.notice is None:
            return False
        outcome = await self._sender.delete(live.notice)
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
        outcome = await self._sender.edit(live.sent, replace(live.post, content=text))
        if isinstance(outcome, Delivered):
            live.shown, live.changed_at = text, _now()
        elif isinstance(outcome, Gone):
            self.live.forget(live)
        return outcome


def _now() -> float:
    return asyncio.get_running_loop().time()
