"""Live mode: one message that grows by edits, and text that was shown but not kept (spec 07).

Finished text joins the last message or begins a new one. Unfinished text is only shown: after the
final text of the last message, or in a message of its own that has no final text so far. In the end
every message shows exactly its final text, and a message without any is deleted: the end result
does not depend on what was shown in the meantime.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from oshaberi.clocks import has_come
from oshaberi.delivery.exactly_once import MessageEdits
from oshaberi.delivery.ledger import DeliveryRecord
from oshaberi.delivery.outcomes import (
    Broken,
    Delivered,
    EditOutcome,
    Gone,
    NoWebhook,
    Outcome,
    Refused,
    Uncertain,
)
from oshaberi.delivery.posting import MessagePoster
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage
from oshaberi.delivery.rate_limit_waits import leave_at
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Post, RequestRoom, Sent, Sink, WebhookFace
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Identity, Message
from oshaberi.text.config import TextConfig
from oshaberi.text.measure import utf16_len

log = logging.getLogger(__name__)

LEAST_SHOWN = 10
"""A message is begun when it has at least this many characters."""
EDIT_SECONDS = 1.0
"""How long after a request for a message its next edit is sent."""
LOOK_SECONDS = 0.05
"""The pause while there is nothing to show yet: the first words should not wait for a second."""
QUICK_LOOKS = 20
"""How many quick checks in a row. Then one a second, for example while a table is written."""

FULL_SHARE = 0.5
"""A message with this much text takes no more, so that text which joins it has room to grow."""
SPARING_SHARE = 0.5
"""From this share of the allowed messages on, all of them are filled."""

_OPEN_QUOTE = re.compile(r"^>>> ", re.MULTILINE)


@dataclass(slots=True)
class LiveMessage:
    """A message that may still grow. Its `post` has the text so far that will not change."""

    sent: Sent
    post: Post
    identity: Identity | None
    left_at: float
    """When its last request was sent."""
    shown: str
    """The text that can be read in it now."""
    spoken_before: WebhookFace | None = None
    """The face that the bot had before this message, in case the message is deleted."""
    notice: Sent | None = None
    """A message of its own that notifies the person who is answered."""

    @property
    def differs(self) -> bool:
        """Return whether it shows text that is not final."""
        return self.shown != self.post.content


class LiveMode:
    """The growing messages. `last` has finished text; `draft` has only unfinished text."""

    def __init__(self, limit: int, response: ResponseState, most_messages: int) -> None:
        self._limit = limit
        self._response = response
        self._sparing_from = most_messages * SPARING_SHARE
        self.last: LiveMessage | None = None
        self.draft: LiveMessage | None = None

    def home_of(self, item: OutgoingMessage) -> LiveMessage | None:
        """Return the message that takes this finished text, or None for a new one."""
        for live in (self.last, self.draft):
            if live is not None and self.with_item(live, live.post.content, item) is not None:
                return live
        return None

    def with_item(self, live: LiveMessage, text: str, item: OutgoingMessage) -> str | None:
        """Return the message's text with the item's, or None if it cannot be added."""
        if item.becomes_file or item.identity != live.identity:
            return None
        return self._with_text(text, item.text)

    def place_of(self, parts: Sequence[Message]) -> tuple[LiveMessage | None, str]:
        """Return where unfinished text is shown, and that message's text; None for a new one."""
        for live in (self.last, self.draft):
            if live is not None:
                text = self._with_parts(live.post.content, live.identity, parts)
                if text != live.post.content:
                    return live, text
        text = self._with_parts("", parts[0].identity, parts)
        return None, text if len(text) >= LEAST_SHOWN else ""

    def forget(self, live: LiveMessage) -> None:
        if live is self.last:
            self.last = None
        else:
            self.draft = None

    def _with_parts(self, text: str, identity: Identity | None, parts: Sequence[Message]) -> str:
        for part in parts:
            longer = self._with_text(text, part.text) if part.identity == identity else None
            if longer is None:
                break
            text = longer
        return text

    def _with_text(self, text: str, more: str) -> str | None:
        """Return both as one message, or None if the second needs its own.

        Unfinished text has to be removed from a message if it turns out not to fit.
        """
        is_sparing = self._response.sent >= self._sparing_from
        if not is_sparing and utf16_len(text) > self._limit * FULL_SHARE:
            return None
        return joined(text, more, self._limit)


def are_one_message(first: OutgoingMessage, second: OutgoingMessage, limit: int) -> bool:
    """Return whether two messages that wait are one message of live mode."""
    if first.becomes_file or second.becomes_file or first.identity != second.identity:
        return False
    return joined(first.text, second.text, limit) is not None


def joined(text: str, more: str, limit: int) -> str | None:
    """Return both texts as one message, or None if the second needs its own.

    Edits never notify, so text with a mention gets its own.
    """
    both = f"{text}\n{more}" if text else more
    if "<@" in more or utf16_len(both) > limit:
        return None
    # `>>> ` quotes everything to the end of its message.
    return None if ">>> " in text and _OPEN_QUOTE.search(text) else both


class EditPace:
    """Decides when the messages of one answer may be edited again.

    At most once a second, and only as often as the bucket of edits allows. The edit that ends an
    answer is sent at once where the bucket is known to have room for it.
    """

    def __init__(self, sink: Sink, queue: MessageQueue, waits: InterruptibleWaits) -> None:
        self._sink = sink
        self._queue = queue
        self._waits = waits

    def due_at(self, live: LiveMessage) -> float:
        """Return the loop time of the next edit; perhaps in the past."""
        room = self._sink.room("edit" if live.sent.via == "bot" else "webhook_edit")
        if self._queue.closed_at is not None and room is not None:
            return leave_at(room, self._waits.now(), at_end=True)
        return max(live.left_at + EDIT_SECONDS, self._even_at(room, live.left_at))

    def _even_at(self, room: RequestRoom | None, left_at: float) -> float:
        """Return when the next edit is sent if the edits of the window are evenly spaced.

        None is reserved for the end: the last edit waits for a second at most, like any other.
        """
        if room is None or left_at >= room.resets_at:
            return left_at
        return left_at + (room.resets_at - left_at) / (max(room.remaining, 0) + 1)

    async def wait(self, live: LiveMessage) -> bool:
        """Wait until the message may be edited. Return False if halted."""
        while not self._waits.halted and not has_come(
            due_at := self.due_at(live), self._waits.now()
        ):
            await self._queue.change(due_at)
        return not self._waits.halted


class LiveEdits:
    """Carries out what `LiveMode` decides."""

    def __init__(
        self,
        config: TextConfig,
        sink: Sink,
        queue: MessageQueue,
        response: ResponseState,
        waits: InterruptibleWaits,
        poster: MessagePoster,
        record: DeliveryRecord,
    ) -> None:
        self.live = LiveMode(config.max_single_message_length, response, config.max_flush_count)
        self.pace = EditPace(sink, queue, waits)
        self._edits = MessageEdits(sink, waits, response)
        self._response = response
        self._poster = poster
        self._record = record
        self.now = waits.now
        self._text_came = False
        self._rests = False
        self._looked_at = float("-inf")
        self._vain_looks = 0
        self._doubted: list[str] = []

    # -- finished text --------------------------------------------------------------------------

    def began(self, sent: Sent, post: Post, identity: Identity | None, left_at: float) -> None:
        """Note a new message that may grow from now on."""
        self._rests = False
        self.live.last = LiveMessage(sent, post, identity, left_at, post.content)

    @property
    def in_doubt(self) -> bool:
        """Return whether unfinished text may be in a message that we do not know."""
        return bool(self._doubted)

    def may_be_there(self, text: str) -> bool:
        """Return whether the text was begun in a message that may have arrived."""
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
        while queue.items:
            longer = self.live.with_item(live, text, queue.items[0])
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
        return self._record.settle(items, outcome, edited=True)

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
        return max((self._looked_at + again, *map(self.pace.due_at, shown)))

    def next_at(self, *, is_text_waiting: bool) -> float | None:
        """Return when a message is edited next; None if there is nothing new to show."""
        is_new = self._text_came and not self._rests and self._vain_looks == 0
        shown = [live for live in (self.live.last, self.live.draft) if live]
        if not shown or not (is_new or is_text_waiting):
            return None
        return max(map(self.pace.due_at, shown))

    async def show(
        self, preview: Callable[[], Sequence[Message]], may_begin: bool, silent: bool
    ) -> Broken | None:
        """Show the unfinished text, in one edit or a new message."""
        self._text_came, self._looked_at = False, self.now()
        self._vain_looks += 1
        try:
            parts = preview()
        except Exception:
            # This is only a preview: the finished text does not depend on it.
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
        return self._note_shown(await self._change(live, text))

    async def _begin(self, text: str, identity: Identity | None, silent: bool) -> Broken | None:
        before, noticed = self._response.voice.spoken_as, len(self._response.notices)
        left_at = self.now()
        outcome, post = await self._poster.draft(text, identity, silent=silent)
        if isinstance(outcome, Delivered):
            kept = replace(post, content="")
            notice = next(iter(self._response.notices[noticed:]), None)
            self.live.draft = LiveMessage(
                outcome.sent, kept, identity, left_at, text, before, notice
            )
        elif isinstance(outcome, Uncertain):
            self._doubted = text.split()
        return self._note_shown(outcome)

    def _note_shown(self, outcome: Outcome | EditOutcome) -> Broken | None:
        """Handle the outcome. A refusal is not a failure: the finished text may be accepted."""
        self._rests = isinstance(outcome, Refused | NoWebhook | Uncertain)
        if isinstance(outcome, Delivered | Refused | NoWebhook):
            return None
        return self._record.settle([], outcome)

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
        if not (at_once or await self.pace.wait(last)):
            return None
        outcome = await self._change(last, last.post.content)
        return self._note_correction(last, outcome)

    async def _take_away(self, live: LiveMessage) -> Broken | None:
        outcome = await self._edits.delete(live.sent)
        if isinstance(outcome, Delivered | Gone):
            self.live.forget(live)
            self._poster.take_back(live.sent, live.spoken_before)
            if live.post.reply or await self._delete_notice(live):
                self._poster.reply_again()
            return None
        return self._note_correction(live, outcome)

    async def _delete_notice(self, live: LiveMessage) -> bool:
        """Delete the message's reply notice too. Return whether that was done."""
        if live.notice is None:
            return False
        outcome = await self._edits.delete(live.notice)
        if not isinstance(outcome, Delivered | Gone):
            return False
        self._response.note_notice_deleted(live.notice)
        return True

    def _note_correction(self, live: LiveMessage, outcome: EditOutcome) -> Broken | None:
        if isinstance(outcome, Refused):
            log.warning("unfinished text could not be taken back: %s", outcome.error)
            self.live.forget(live)
        if isinstance(outcome, Delivered | Refused):
            return None
        return self._record.settle([], outcome)

    async def _change(self, live: LiveMessage, text: str) -> EditOutcome:
        if text == live.shown:
            return Delivered(live.sent)
        left_at = self.now()
        outcome = await self._edits.edit(live.sent, replace(live.post, content=text))
        if isinstance(outcome, Delivered):
            live.shown, live.left_at = text, left_at
        elif isinstance(outcome, Gone):
            self.live.forget(live)
        return outcome


class LiveGrowth:
    """Shows the unfinished text, which `preview` returns, until the next message is ready."""

    def __init__(
        self,
        preview: Callable[[], Sequence[Message]],
        edits: LiveEdits,
        queue: MessageQueue,
        may_begin: Callable[[], bool],
        is_silent: Callable[[], bool],
    ) -> None:
        self._preview = preview
        self._edits = edits
        self._queue = queue
        self._may_begin = may_begin
        self._is_silent = is_silent

    def text_came(self) -> None:
        if self._edits.text_came():
            self._queue.wake()

    async def run(self, is_over: Callable[[], bool]) -> Broken | None:
        """Show unfinished text until it is over: a message is ready, or a stop came."""
        while not is_over():
            due = self._edits.due_at
            if due is None or due > self._edits.now():
                await self._queue.change(due)
                continue
            broken = await self._edits.show(self._preview, self._may_begin(), self._is_silent())
            if broken is not None:
                return broken
        return None
