"""Lets a message wait until its bucket has room, and joins those without room (spec 07).

Messages that Discord would refuse wait here instead, where others can still join them.
"""

from __future__ import annotations

from oshaberi.delivery.degree_policy import paces
from oshaberi.delivery.delivery_plug_ins import PERSONA_MODE
from oshaberi.delivery.pacing.bucket_pace import leave_at, spare_requests
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.posting.webhook_identity import face_of
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import RequestRoom, Sink
from oshaberi.delivery.stream_config import StreamConfig


class BucketWaits:
    """Waits until the bucket of the first message in the queue has room for it."""

    def __init__(
        self,
        config: StreamConfig,
        sink: Sink,
        queue: MessageQueue,
        response: ResponseState,
        waits: InterruptibleWaits,
    ) -> None:
        self._config = config
        self._sink = sink
        self._queue = queue
        self._response = response
        self._waits = waits
        self._now = waits.now

    async def wait(self) -> None:
        """Wait until the first message may be sent, or a stop comes."""
        if self._known() is None:
            return
        waited = False
        while (
            until := leave_at(self._known(), self._now(), at_end=self._queue.closed)
        ) > self._now():
            waited = True
            await self._queue.change(until)
            if self._waits.halted:
                return
        if waited and not paces(self._config):
            self._queue.join_waiting(join_from=2)
        self.join()

    def join(self) -> None:
        """Join neighbours until there is room for all that wait."""
        room = self._known()
        if room is not None:
            self._queue.join_down_to(spare_requests(room, self._now(), at_end=self._queue.closed))

    def for_unfinished_text(self) -> bool:
        """Tell whether live mode may begin a message: only if more room is left."""
        return leave_at(self._sink.room("send"), self._now()) <= self._now()

    def _known(self) -> RequestRoom | None:
        return self._sink.room("webhook_send" if self._wears_face() else "send")

    def _wears_face(self) -> bool:
        """Tell whether the next message goes through the webhook.

        What a plug-in decides is known only when it is sent: presumably as the last time.
        """
        if self._config.display_mode != PERSONA_MODE and self._response.messages:
            return self._response.messages[-1].via == "webhook"
        face = face_of(self._queue.first.identity, self._config.text.persona)
        return face is not None and not self._response.webhook_lost
