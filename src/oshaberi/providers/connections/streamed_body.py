"""Reads the body of a streamed answer in pieces as they arrive, with limits on silence and size.

aiohttp would set a new timer for every piece. Here one timer checks, when it is due, whether the
silence has really lasted that long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from oshaberi.foreign_bodies import PIECE, BodyTooLargeError, cut, unpacker_for
from oshaberi.providers.request.answer_budgets import MOST_BODY_BYTES

_NO_HEADERS: Mapping[str, str] = {}


class StreamedBody:
    """Yields the pieces of one body, none longer than `PIECE`.

    Raises TimeoutError after `silence_s` without a byte, and BodyTooLargeError after `most_bytes`
    bytes. Close it if you stop reading early.
    """

    def __init__(
        self,
        content: Any,
        silence_s: float | None,
        most_bytes: int = MOST_BODY_BYTES,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self._unpacker = unpacker_for(headers)
        self._content = content
        self._read: Callable[[], Awaitable[bytes]] = content.readany
        self._silence_s = silence_s
        self._most_bytes = self._left_bytes = most_bytes
        self._whole_below = PIECE if self._unpacker is None else 0
        self._cut_up: Iterator[bytes] | None = None
        """The rest of what was read last, if that was too much for one piece."""
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._waits_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._look_in(silence_s)

    def __aiter__(self) -> StreamedBody:
        return self

    async def __anext__(self) -> bytes:
        while True:
            if self._cut_up is not None:
                piece = await self._next_of_many(self._cut_up)
                if piece:
                    return piece
            self._waits_since = self._now()
            piece = await self._read()
            self._waits_since = None
            size = len(piece)
            self._left_bytes = left = self._left_bytes - size
            if 0 < size <= self._whole_below and left >= 0:
                return piece
            self._cut_up = self._pieces_of(piece)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pieces_of(self, piece: bytes) -> Iterator[bytes]:
        """Return what was read in small pieces. Raises at the end and beyond the limit."""
        if not piece:
            self.close()
            raise StopAsyncIteration
        if self._unpacker is None:
            self._left_bytes += len(piece)  # it is counted again, piece by piece
            return cut(piece)
        if self._left_bytes < 0:
            raise BodyTooLargeError(self._most_bytes)
        return self._unpacker.pieces(piece)

    async def _next_of_many(self, pieces: Iterator[bytes]) -> bytes:
        """Return the next piece, after the loop has had its turn; nothing at the end."""
        await asyncio.sleep(0)
        piece = next(pieces, b"")
        self._left_bytes -= len(piece)
        if self._left_bytes < 0:
            raise BodyTooLargeError(self._most_bytes)
        if not piece:
            self._cut_up = None
        return piece

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
