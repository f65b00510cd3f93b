"""The messages that wait to be sent, in the order of the text.

The bound is soft: whoever adds waits for room *before* making more, so nothing is ever in between.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from oshaberi.delivery.outgoing_message import OutgoingMessage, joined
from oshaberi.text.text_measure import utf16_len

BOUND = 64
JOIN_FROM = 3


class MessageQueue:
    """First in, first out, for one sender."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[OutgoingMessage] = deque()
        self._closed = False
        self.full = False
        self._waiter: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[OutgoingMessage]:
        return iter(self._items)

    def extend(self, items: Iterable[OutgoingMessage]) -> None:
        self._items.extend(items)
        self._note()

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._note()

    async def room(self) -> None:
        await self._room.wait()

    async def head(self, least: int = 1) -> OutgoingMessage | None:
        """The next message, once so many wait or no more will come; None at the end.

        It stays in the queue until it is taken: whoever stops now finds it still waiting.
        """
        while not self.ready(least):
            await self.change()
        return self._items[0] if self._items else None

    def ready(self, least: int = 1) -> bool:
        """Whether so many wait, or no more will come."""
        return len(self._items) >= least or self._closed

    async def change(self, until: float | None = None) -> None:
        """Wait for a message, the end, a `wake`, or that time."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = None if until is None else loop.call_at(until, self.wake)
        try:
            await self._waiter
        finally:
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        """Whoever waits shall look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> OutgoingMessage:
        item = self._items.popleft()
        self._note()
        return item

    def put_back(self, items: Sequence[OutgoingMessage]) -> None:
        """In front of everything, in their order."""
        self._items.extendleft(reversed(items))
        self._note()

    def clear(self) -> list[OutgoingMessage]:
        items = list(self._items)
        self._items.clear()
        self._note()
        return items

    def join_waiting(self) -> None:
        """The sink was blocked: let neighbours share messages (spec 07, falling behind)."""
        if len(self._items) < JOIN_FROM:
            return
        merged: deque[OutgoingMessage] = deque()
        for item in self._items:
            if merged and fits_together(merged[-1], item, self._limit):
                merged[-1] = joined(merged[-1], item)
            else:
                merged.append(item)
        self._items = merged
        self._note()

    def widen_head(self) -> None:
        """As much as fits into the first message: only one may leave (spec 04 O1)."""
        while len(self._items) > 1:
            first, second = self._items[0], self._items[1]
            length = utf16_len(first.text) + 1 + utf16_len(second.text)
            if first.identity != second.identity or length > self._limit:
                return
            self._items.popleft()
            self._items[0] = joined(first, second)

    def _note(self) -> None:
        self.wake()
        full = len(self._items) >= BOUND
        if full is not self.full:
            self.full = full
            self._room.clear() if full else self._room.set()


def fits_together(first: OutgoingMessage, second: OutgoingMessage, limit: int) -> bool:
    if not (first.joinable and second.joinable) or first.identity != second.identity:
        return False
    return utf16_len(first.text) + 1 + utf16_len(second.text) <= limit
