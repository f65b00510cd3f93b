"""When Discord's bucket has room for the next message, and which messages are joined until then.

Discord says with each response how many requests of a kind a channel still accepts, and until when.
Messages that it would refuse wait here instead, where others can still join them (spec 07, falling
behind). The first requests are sent at once, and the next ones are spread over the rest of the
time. The last one is reserved for the end of the answer until the next window is near, so that the
reader need not wait for it. Pacing is no reason to join: a line that it sends in time, or after the
window renews, stays a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from oshaberi.clocks import has_come
from oshaberi.delivery.attachments import PERSONA_MODE
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.pacing import TypingWaits
from oshaberi.delivery.posting import face_of
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage, joined
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import RequestKind, RequestRoom, Sink
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.text.measure import utf16_len

KEPT_FOR_END = 1
KEPT_UNTIL_S = 1.0
"""The kept request is free this long before the window renews: then the end need not wait long."""
SMALLEST_SPREAD = 3
"""In a smaller bucket no request is kept for the end: too few would be left."""
AT_ONCE = 2
"""How many requests of a window are sent at once. The others are spread."""
JOIN_FROM = 3
BLOCKED_SECONDS = 1.0
"""A request that takes longer means that the sink is blocked: waiting messages are joined."""
PATIENCE_S = 2.0
"""How late, compared with pacing alone, the last line may be at the beginning of an answer. So an
answer of eight or ten lines, for which one window is too small, is still sent line by line."""


def leave_at(room: RequestRoom | None, now: float, *, at_end: bool = False) -> float:
    """Return when the next request may be sent: `now`, or later. `at_end`: no more will come."""
    if room is None or now >= room.resets_at:
        return now
    if room.remaining <= 0:
        return room.resets_at
    kept = _kept(room, at_end=at_end)
    spare = room.remaining - kept
    if spare <= 0:
        return max(now, room.resets_at - KEPT_UNTIL_S)
    if at_end or spare >= room.limit - KEPT_FOR_END - AT_ONCE + 1:
        return now
    gap = (room.resets_at - room.noted_at) / (spare + 1)
    return max(now, room.noted_at + gap)


def _kept(room: RequestRoom, *, at_end: bool) -> int:
    return 0 if at_end or room.limit < SMALLEST_SPREAD else KEPT_FOR_END


@dataclass(frozen=True, slots=True)
class PlannedSend:
    """When a waiting message is sent if nothing is joined, and in which window."""

    wanted_at: float
    leaves_at: float
    window: int
    """0 is the current window, 1 the next one."""

    @property
    def late_s(self) -> float:
        return self.leaves_at - self.wanted_at


def planned_sends(
    wanted: Sequence[float], room: RequestRoom, window_s: float, now: float, *, at_end: bool = False
) -> list[PlannedSend]:
    """Return when the waiting messages are sent one by one.

    `wanted` is what pacing alone chooses.
    """
    planned: list[PlannedSend] = []
    kept = _kept(room, at_end=at_end)
    renewed = now >= room.resets_at
    left = room.limit if renewed else room.remaining
    resets_at = now + window_s if renewed else room.resets_at
    window, leaves_at = 0, now
    for wanted_at in wanted:
        leaves_at = max(leaves_at, wanted_at)
        if 0 < left <= kept:
            leaves_at = max(leaves_at, resets_at - KEPT_UNTIL_S)
        if leaves_at >= resets_at or left <= 0:
            leaves_at = max(leaves_at, resets_at)
            resets_at = leaves_at + window_s
            window, left = window + 1, room.limit
        left -= 1
        planned.append(PlannedSend(wanted_at, leaves_at, window))
    return planned


class BucketWaits:
    """Waits until the bucket of the first message in the queue has room for it."""

    def __init__(
        self,
        config: StreamConfig,
        sink: Sink,
        queue: MessageQueue,
        response: ResponseState,
        waits: InterruptibleWaits,
        pace: TypingWaits | None,
    ) -> None:
        self._joins = config.join_when_blocked
        self._has_mode = config.display_mode != PERSONA_MODE
        self._persona = config.text.persona
        self._sink = sink
        self._queue = queue
        self._response = response
        self._waits = waits
        self._pace = pace
        self._now = waits.now
        self._window_s = 0.0
        """The longest time until a reset that was seen: about the length of a window."""
        self._presses = False
        """Whether more messages wait than the bucket accepts at the pace of the answer."""

    async def wait(self) -> None:
        """Wait until the first message may be sent, or a stop comes."""
        room = self._room()
        if room is None:
            return
        while True:
            until = leave_at(room, self._now(), at_end=self._at_end)
            if has_come(until, self._now()):
                break
            await self._queue.change(until)
            if self._waits.halted:
                return
            room = self._room()
        self._join(room)

    def join(self) -> None:
        """Join as many neighbours as are needed so that pacing, not the bucket, sets the time."""
        self._join(self._room())

    def join_all(self) -> None:
        """Join the waiting messages, because the sink was blocked (`BLOCKED_SECONDS`)."""
        if self._joins:
            self._queue.join_waiting(JOIN_FROM)

    def _join(self, room: RequestRoom | None) -> None:
        if room is None:
            return
        count = len(self._queue.items)
        wanted = [self._now()] * count if self._pace is None else self._pace.moments()
        self._presses = self._planned(room, wanted, at_end=True)[-1].late_s > 0
        if not self._joins or count < 2:
            return
        sizes = self._groups(room, wanted)
        if len(sizes) < count:
            self._queue.join_groups(sizes)

    def _groups(self, room: RequestRoom, wanted: Sequence[float]) -> list[int]:
        """Return how many neighbours to join into each message.

        Code stays a message of its own, unless that would keep its reader waiting for the end of
        the answer.
        """
        in_time = wanted[-1] + self._patience(room)
        sizes, ends_at = self._grouped(room, wanted, in_time, with_code=False)
        if ends_at > in_time and self._queue.closed_at is not None:
            with_code = self._grouped(room, wanted, in_time, with_code=True)
            if with_code[1] < ends_at:
                return with_code[0]
        return sizes

    def _grouped(
        self, room: RequestRoom, wanted: Sequence[float], in_time: float, *, with_code: bool
    ) -> tuple[list[int], float]:
        """Return the sizes after the fewest possible joins, and when the last message is sent."""
        items, wanted = list(self._queue.items), list(wanted)
        sizes = [1] * len(items)
        best, ends_at = sizes, float("inf")
        while True:
            planned = self._planned(room, wanted, at_end=self._at_end)
            if planned[-1].leaves_at < ends_at:
                best, ends_at = list(sizes), planned[-1].leaves_at
            if ends_at <= in_time:
                return best, ends_at
            at = self._shortest_pair(items, planned, with_code=with_code)
            if at is None:
                return best, ends_at
            items[at : at + 2] = [joined(items[at], items[at + 1])]
            sizes[at : at + 2] = [sizes[at] + sizes[at + 1]]
            del wanted[at + 1]

    def _planned(
        self, room: RequestRoom, wanted: Sequence[float], *, at_end: bool
    ) -> list[PlannedSend]:
        return planned_sends(wanted, room, self._window_s, self._now(), at_end=at_end)

    def _shortest_pair(
        self,
        items: Sequence[OutgoingMessage],
        planned: Sequence[PlannedSend],
        *,
        with_code: bool,
    ) -> int | None:
        """Return where the shortest pair begins in the first window that is too full.

        It looks no further: what pacing sends after the window renews stays as it is.
        """
        pairs: list[tuple[int, int]] = []
        for at, (first, second) in enumerate(pairwise(items)):
            if self._queue.fit_together(first, second, with_code=with_code):
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
        """Return whether live mode may begin a message: only if more room is left."""
        return leave_at(self._sink.room("send"), self._now()) <= self._now()

    @property
    def _at_end(self) -> bool:
        """Return whether no request is reserved for the end of the answer, and none is spread.

        A pace that the bucket can follow is not disturbed, and a queue that may not be joined
        gains nothing by it.
        """
        follows = self._pace is not None and not self._presses
        return follows or not self._joins or self._queue.closed_at is not None

    def _patience(self, room: RequestRoom) -> float:
        """Return how late the last waiting message may be. Delays of a long answer add up."""
        begins = self._response.sent <= room.limit
        return PATIENCE_S if begins and self._pace is not None else 0.0

    def _room(self) -> RequestRoom | None:
        """Return what is known about the bucket of the next message."""
        kind: RequestKind = "webhook_send" if self._has_face() else "send"
        room = self._sink.room(kind)
        if room is not None:
            self._window_s = max(self._window_s, room.resets_at - room.noted_at)
        return room

    def _has_face(self) -> bool:
        """Return whether the next message goes through the webhook.

        A plug-in decides only when it is sent: presumably as it did the last time.
        """
        if self._has_mode and self._response.messages:
            return self._response.messages[-1].via == "webhook"
        if self._response.voice.webhook_lost:
            return False
        return face_of(self._queue.items[0].identity, self._persona) is not None
