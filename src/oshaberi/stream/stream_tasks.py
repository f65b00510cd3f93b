"""The two tasks of a stream, reading and delivering, and how they are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from oshaberi.delivery.posting.send_outcome import Broken
from oshaberi.stream.reading.chunk_reader import CLOSE_SECONDS, ChunkReader, ReadingEnd

LEAVE_SECONDS = 2 * CLOSE_SECONDS


class StreamTasks:
    """Runs both tasks; `on_done` is called when one ends."""

    def __init__(
        self,
        reader: ChunkReader,
        reading: Coroutine[Any, Any, ReadingEnd],
        delivering: Coroutine[Any, Any, Broken | None],
        on_done: Callable[[], None],
    ) -> None:
        self.reading = asyncio.create_task(reading)
        self.delivering = asyncio.create_task(delivering)
        self._reader = reader
        self._closing: asyncio.Task[None] | None = None
        for task in (self.reading, self.delivering):
            task.add_done_callback(lambda _task: on_done())

    def end_reading(self) -> None:
        """Read nothing more, and release the provider's connection."""
        self._reader.stop()
        if self._closing is None:
            self.reading.cancel()
            self._closing = asyncio.create_task(self._close_provider())

    async def _close_provider(self) -> None:
        """Cancel reading once, so that an adapter can clean up; again if that takes long."""
        await asyncio.wait({self.reading}, timeout=CLOSE_SECONDS)
        self.reading.cancel()
        await self._reader.close()

    def cancel(self) -> None:
        self.end_reading()
        self.delivering.cancel()

    async def leave(self) -> None:
        """Wait until all tasks have ended, for a limited time (spec 04 O10)."""
        tasks = [self.reading, self.delivering, self._closing]
        left: list[asyncio.Task[Any]] = [task for task in tasks if task is not None]
        await asyncio.wait(left, timeout=LEAVE_SECONDS)
        for task in left:
            if task.done() and not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it
