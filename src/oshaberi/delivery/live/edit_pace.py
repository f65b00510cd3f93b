"""Live mode: says when a message may be edited again.

At most once a second, and only as often as the bucket of edits allows. The edit that ends an answer
leaves at once where the bucket is known to have room for it.
"""

from __future__ import annotations

import asyncio

from oshaberi.delivery.live.live_mode import LiveMessage
from oshaberi.delivery.pacing.bucket_pace import leave_at
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.delivery.sink import Sink

EDIT_SECONDS = 1.0


class EditPace:
    """Decides when the messages of one answer may be edited. The queue tells whether more comes."""

    def __init__(self, sink: Sink, queue: MessageQueue, waits: InterruptibleWaits) -> None:
        self._sink = sink
        self._queue = queue
        self._waits = waits

    def due_at(self, live: LiveMessage) -> float:
        """Return the loop time of the next edit; perhaps in the past."""
        at_end = self._queue.closed
        room = self._sink.room("edit" if live.sent.via == "bot" else "webhook_edit")
        by_bucket = leave_at(room, _now(), at_end=at_end)
        if at_end and room is not None:
            return by_bucket
        return max(live.changed_at + EDIT_SECONDS, by_bucket)

    async def wait(self, live: LiveMessage) -> bool:
        """Wait until it may be edited. Return False if it was halted."""
        while not self._waits.halted and (due_at := self.due_at(live)) > _now():
            await self._queue.change(due_at)
        return not self._waits.halted


def _now() -> float:
    return asyncio.get_running_loop().time()
