"""Lets a message wait until its bucket has room, and joins lines only if they would be late.

Messages that Discord would refuse wait here instead, where others can still join them (spec 07,
falling behind). Discord's headers tell beforehand what it would refuse. Pacing is no reason to
join: a line that it sends in time, or after the window renews, stays a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from oshaberi.delivery.degree_policy import paces
from oshaberi.delivery.delivery_plug_ins import PERSONA_MODE
from oshaberi.delivery.outgoing_message import OutgoingMessage, joined
from oshaberi.delivery.pacing.bucket_pace import PlannedSend, leave_at, planned_sends
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.webhook_identity import face_of
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import RequestKind, RequestRoom, Sink
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.delivery.typing_waits import TypingWaits
from oshaberi.text.text_measure import utf16_len

PATIENCE_S = 2.0
"""How much later than pacing wants it the last line may be at the beginning of an answer. So an
answer of eight or ten lines, for which one window is too small, is still sent line by line."""


class BucketWaits:
    """Waits until the bucket of the first message in the queue has room for it."""

    def __init__(
        self,
        config: StreamConfig,
        sink: Sink,
        queue: MessageQueue,
        response: ResponseState,
        waits: InterruptibleWaits,
        pace: TypingWaits,
    ) -> None:
        self._config = config
        self._sink = sink
        self._queue = queue
        self._response = response
        self._waits = waits
        self._pace = pace
        self._now = waits.now
        self._window_s = 0.0
        """The longest time until a reset that was seen: about the length of a window."""
        self._presses = False
        """Whether more waits than the bucket takes at the pace of the answer."""

    async def wait(self) -> None:
        """Wait until the first message may be sent, or a stop comes."""
        if self._known() is None:
            return
        while (until := self._leave_at()) > self._now():
            await self._queue.change(until)
            if self._waits.halted:
                return
        self.join()

    def join(self) -> None:
        """Join as many neighbours as are needed so that pacing, not the bucket, sets the time."""
        room = self._known()
        if room is None:
            return
        wanted = self._pace.moments() if paces(self._config) else [self._now()] * len(self._queue)
        self._presses = self._planned(room, wanted, at_end=True)[-1].late_s > 0
        if not self._config.join_when_blocked or len(wanted) < 2:
            return
        sizes = self._groups(room, wanted)
        if len(sizes) < len(self._queue):
            self._queue.join_groups(sizes)

    def _groups(self, room: RequestRoom, wanted: list[float]) -> list[int]:
        """Return how many neighbours each message is to have, after the fewest possible joins."""
        items = list(self._queue)
        sizes = [1] * len(items)
        in_time = wanted[-1] + self._patience(room)
        best, ends_at = sizes, float("inf")
        while True:
            planned = self._planned(room, wanted, at_end=self._at_end)
            if planned[-1].leaves_at < ends_at:
                best, ends_at = list(sizes), planned[-1].leaves_at
            if ends_at <= in_time:
                return best
            at = self._shortest_pair(items, planned)
            if at is None:
                return best
            items[at : at + 2] = [joined(items[at], items[at + 1])]
            sizes[at : at + 2] = [sizes[at] + sizes[at + 1]]
            del wanted[at + 1]

    def _planned(
        self, room: RequestRoom, wanted: Sequence[float], *, at_end: bool
    ) -> list[PlannedSend]:
        return planned_sends(wanted, room, self._window_s, self._now(), at_end=at_end)

    def _shortest_pair(
        self, items: Sequence[OutgoingMessage], planned: Sequence[PlannedSend]
    ) -> int | None:
        """Return where the shortest pair begins in the first window that is too full.

        Only this far: what pacing sends after the window renews stays as it is.
        """
        pairs: list[tuple[int, int]] = []
        for at, (first, second) in enumerate(pairwise(items)):
            if self._queue.fit_together(first, second):
                pairs.append((utf16_len(first.text) + utf16_len(second.text), at))
            refused = planned[at + 1].window > planned[at].window and planned[at + 1].late_s > 0
            if refused and pairs:
                break
            if planned[at + 1].window > planned[at].window:
                pairs.clear()
        else:
            return None
        return min(pairs)[1]

    def for_unfinished_text(self) -> bool:
        """Tell whether live mode may begin a message: only if more room is left."""
        return leave_at(self._sink.room("send"), self._now()) <= self._now()

    @property
    def _at_end(self) -> bool:
        """Whether no request is kept for the end of the answer, and none is spread.

        A pace that the bucket can follow is not disturbed, and a queue that may not be joined
        gains nothing by it.
        """
        follows = paces(self._config) and not self._presses
        return self._queue.closed or follows or not self._config.join_when_blocked

    def _leave_at(self) -> float:
        return leave_at(self._known(), self._now(), at_end=self._at_end)

    def _patience(self, room: RequestRoom) -> float:
        """Return how late the last waiting message may be. Delays of a long answer add up."""
        begins = self._response.sent <= room.limit
        return PATIENCE_S if begins and paces(self._config) else 0.0

    def _known(self) -> RequestRoom | None:
        kind: RequestKind = "webhook_send" if self._wears_face() else "send"
        room = self._sink.room(kind)
        if room is not None:
            self._window_s = max(self._window_s, room.resets_at - room.noted_at)
        return room

    def _wears_face(self) -> bool:
        """Tell whether the next message goes through the webhook.

        What a plug-in decides is known only when it is sent: presumably as the last time.
        """
        if self._config.display_mode != PERSONA_MODE and self._response.messages:
            return self._response.messages[-1].via == "webhook"
        face = face_of(self._queue.first.identity, self._config.text.persona)
        return face is not None and not self._response.webhook_lost
