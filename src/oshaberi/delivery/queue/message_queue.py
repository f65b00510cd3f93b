"""The messages that wait to be sent, in the order of the text. Joins them when the sink is blocked.

The limit is soft: the reader waits for room *before* it makes more, so no message is held
elsewhere.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

from oshaberi.delivery.outgoing_message import OutgoingMessage, joined
from oshaberi.text.text_measure import utf16_len

BOUND = 64
JOIN_FROM = 3
BLOCKED_SECONDS = 1.0
"""A request that takes longer shows that the sink is blocked."""


class MessageQueue:
    """A first-in, first-out queue for one sender."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[OutgoingMessage] = deque()
        self.closed_at: float | None = None
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
        """Note that nothing more will come."""
        if self.closed_at is None:
            self.closed_at = asyncio.get_running_loop().time()
        self._note()

    @property
    def closed(self) -> bool:
        return self.closed_at is not None

    async def room(self) -> None:
        await self._room.wait()

    async def head(self, least: int = 1) -> OutgoingMessage | None:
        """Wait for `least` messages or the end. Return the first, or None at the end.

        It stays in the queue until `take`, so that a stop finds it still waiting.
        """
        while not self.ready(least):
            await self.change()
        return self._items[0] if self._items else None

    @property
    def first(self) -> OutgoingMessage:
        return self._items[0]

    def ready(self, least: int = 1) -> bool:
        """Tell whether `least` messages wait, or no more will come."""
        return len(self._items) >= least or self.closed

    async def change(self, until: float | None = None) -> None:
        """Wait for a message, the end, a `wake`, or the time `until`."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = None if until is None else loop.call_at(until, self.wake)
        try:
            await self._waiter
        finally:
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        """Wake the waiting sender, so that it checks again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> OutgoingMessage:
        item = self._items.popleft()
        self._note()
        return item

    def put_back(self, items: Sequence[OutgoingMessage]) -> None:
        """Put messages back at the front, in their order."""
        self._items.extendleft(reversed(items))
        self._note()

    def clear(self) -> list[OutgoingMessage]:
        items = list(self._items)
        self._items.clear()
        self._note()
        return items

    def join_if_blocked(self, request_seconds: float) -> None:
        """Join neighbours if the last request took too long (spec 07, falling behind)."""
        if request_seconds > BLOCKED_SECONDS:
            self.join_waiting(JOIN_FROM)

    def join_waiting(self, join_from: int) -> None:
        """Join neighbours, from `join_from` waiting messages on."""
        if len(self._items) >= join_from:
            self.join_while(lambda first, second: fits_together(first, second, self._limit))

    def join_while(self, fits: Callable[[OutgoingMessage, OutgoingMessage], bool]) -> None:
        """Join all neighbours that fit together."""
        merged: deque[OutgoingMessage] = deque()
        for item in self._items:
            if merged and not merged[-1].attempted and fits(merged[-1], item):
                merged[-1] = joined(merged[-1], item)
            else:
                merged.append(item)
        self._items = merged
        self._note()

    def join_groups(self, sizes: Sequence[int]) -> None:
        """Join as many neighbours as each size says, in order. The waits of the others stay."""
        items, merged, unused_ms = iter(self._items), deque[OutgoingMessage](), 0.0
        for size in sizes:
            group = [next(items) for _ in range(size)]
            if unused_ms:
                group[0].wait = group[0].wait.longer_by(unused_ms)
            unused_ms = sum(item.wait.total_ms for item in group[1:])
            merged.append(reduce(joined, group))
        self._items = merged
        self._note()

    def fit_together(self, first: OutgoingMessage, second: OutgoingMessage) -> bool:
        """Return whether two neighbours may be joined."""
        return fits_together(first, second, self._limit)

    def widen_head(self) -> None:
        """Join as much as fits into the first message: only one may leave (spec 04 O1)."""
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
