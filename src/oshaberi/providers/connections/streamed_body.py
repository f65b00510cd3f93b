"""Reads the body of a streamed answer in pieces as they arrive, with a timeout for silence.

aiohttp would set a new timer for every piece. Here one timer checks, when it is due, whether the
silence has really lasted that long.
"""

from __future__ import annotations

import asyncio
from typing import Any


class StreamedBody:
    """Yields the pieces of one body; raises TimeoutError after `silence_s` without a byte.

    Close it if you stop reading early.
    """

    def __init__(self, content: Any, silence_s: float | None) -> None:
        self._content = content
        self._read = content.readany
        self._silence_s = silence_s
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._waits_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._look_in(silence_s)

    def __aiter__(self) -> StreamedBody:
        return self

    async def __anext__(self) -> bytes:
        self._waits_since = self._now()
        piece: bytes = await self._read()
        self._waits_since = None
        if piece:
            return piece
        self.close()
        raise StopAsyncIteration

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_in(self, seconds: float | None) -> None:
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Raise TimeoutError in the reader, or set the timer again. Only reading time counts."""
        silence_s = self._silence_s or 0.0
        now = self._loop.time()
        left = silence_s if self._waits_since is None else self._waits_since + silence_s - now
        if left > 0:
            self._look_in(left)
        else:
            self._content.set_exception(TimeoutError("the server fell silent"))
