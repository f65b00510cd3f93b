"""Live mode: shows the unfinished text until the next message is ready, at most once a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from oshaberi.delivery.live.live_edits import LiveEdits
from oshaberi.delivery.posting.send_outcome import Broken
from oshaberi.delivery.queue.message_queue import MessageQueue
from oshaberi.events import Message


class LiveGrowth:
    """Grows the messages of one stream. `preview` returns the unfinished text."""

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
            if due is None or due > asyncio.get_running_loop().time():
                await self._queue.change(due)
                continue
            broken = await self._edits.show(self._preview, self._may_begin(), self._is_silent())
            if broken is not None:
                return broken
        return None
