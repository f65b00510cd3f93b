"""The messages that wait to be sent: their order, and how neighbours are joined."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.attachments import (
    RenderedBlock,
)
from oshaberi.delivery.sink import File
from oshaberi.events import Identity, Table
from oshaberi.text.measure import utf16_len

BOUND = 64
"""With this many waiting messages the reader waits for room *before* it makes more. So no message
is held elsewhere, and the limit is soft."""

_EMOJI_RUN = re.compile(r"(?:<a?:\w+:\d+>\s*)+")


class Wait:
    """A pause, then the typing indicator. `scale` shrinks both when too much is queued."""

    __slots__ = ("pause_ms", "scale", "typing_ms")

    def __init__(self, pause_ms: float, typing_ms: float) -> None:
        self.pause_ms = pause_ms
        self.typing_ms = typing_ms
        self.scale = 1.0

    @property
    def total_ms(self) -> float:
        return (self.pause_ms + self.typing_ms) * self.scale

    def longer_by(self, ms: float) -> Wait:
        """Return a wait that takes this many ms more, all of them with the indicator."""
        return Wait(self.pause_ms * self.scale, self.typing_ms * self.scale + ms)


class OutgoingMessage:
    """A Discord message that waits. After the first attempt it does not change.

    `entries` are its places in the ledger. `history` is its form in the model's history: with its
    label, and a table as its source. A `block` is a code block that becomes a file.
    """

    __slots__ = (
        "attached",
        "attempted",
        "becomes_file",
        "block",
        "entries",
        "history",
        "identity",
        "number",
        "ready_at",
        "table",
        "text",
        "wait",
    )

    def __init__(
        self,
        number: int,
        text: str,
        identity: Identity | None,
        entries: tuple[int, ...],
        history: str,
        ready_at: float,
        wait: Wait,
        table: Table | None = None,
        block: RenderedBlock | None = None,
        attached: File | None = None,
    ) -> None:
        self.number = number
        self.text = text
        self.identity = identity
        self.entries = entries
        self.history = history
        self.ready_at = ready_at
        self.wait = wait
        self.table = table
        self.block = block
        self.attached = attached
        self.becomes_file = not (table is None and block is None and attached is None)
        self.attempted = False

    def joinable(self, *, with_code: bool = False) -> bool:
        """Return whether it is text that may be joined with its neighbour."""
        if self.becomes_file or self.attempted or ("```" in self.text and not with_code):
            return False
        return _EMOJI_RUN.fullmatch(self.text) is None

    def with_text(self, number: int, text: str, history: str) -> OutgoingMessage:
        """Return a message with this text instead of the table or block."""
        plain = OutgoingMessage(
            number, text, self.identity, self.entries, history, self.ready_at, self.wait
        )
        plain.attempted = self.attempted
        return plain


def joined(first: OutgoingMessage, second: OutgoingMessage) -> OutgoingMessage:
    """Join two neighbours into one message, with the number of the first."""
    return OutgoingMessage(
        number=first.number,
        text=f"{first.text}\n{second.text}",
        identity=first.identity,
        entries=first.entries + second.entries,
        history=f"{first.history}\n{second.history}",
        ready_at=first.ready_at,
        wait=first.wait,
    )


class MessageQueue:
    """The messages that wait, in the order of the text, for one sender."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.items: deque[OutgoingMessage] = deque()
        """For others to look at. Only the methods change it."""
        self.closed_at: float | None = None
        """When it became certain that nothing more would come."""
        self.full = False
        self._waiter: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    def extend(self, items: Iterable[OutgoingMessage]) -> None:
        self.items.extend(items)
        self._note()

    def close(self) -> None:
        """Note that nothing more will come."""
        if self.closed_at is None:
            self.closed_at = loop_time_s()
        self._note()

    async def room(self) -> None:
        await self._room.wait()

    async def head(self, least: int = 1) -> OutgoingMessage | None:
        """Wait for `least` messages or the end. Return the first, or None at the end.

        It stays in the queue until `take`, so that a stop finds it still waiting.
        """
        while not self.ready(least):
            await self.change()
        return self.items[0] if self.items else None

    def ready(self, least: int = 1) -> bool:
        """Return whether `least` messages wait, or no more will come."""
        return len(self.items) >= least or self.closed_at is not None

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
        item = self.items.popleft()
        self._note()
        return item

    def put_back(self, items: Sequence[OutgoingMessage]) -> None:
        """Put messages back at the front, in their order."""
        self.items.extendleft(reversed(items))
        self._note()

    def clear(self) -> list[OutgoingMessage]:
        items = list(self.items)
        self.items.clear()
        self._note()
        return items

    def join_waiting(self, join_from: int) -> None:
        """Join neighbours, from `join_from` waiting messages on (spec 07, falling behind)."""
        if len(self.items) >= join_from:
            self.join_while(lambda first, second: fits_together(first, second, self._limit))

    def join_while(self, fits: Callable[[OutgoingMessage, OutgoingMessage], bool]) -> None:
        """Join all neighbours that fit together."""
        merged: deque[OutgoingMessage] = deque()
        for item in self.items:
            if merged and not merged[-1].attempted and fits(merged[-1], item):
                merged[-1] = joined(merged[-1], item)
            else:
                merged.append(item)
        self.items = merged
        self._note()

    def join_groups(self, sizes: Sequence[int]) -> None:
        """Join as many neighbours as each size says, in order.

        The waits of the other messages stay.
        """
        items, merged, unused_ms = iter(self.items), deque[OutgoingMessage](), 0.0
        for size in sizes:
            group = [next(items) for _ in range(size)]
            if unused_ms:
                group[0].wait = group[0].wait.longer_by(unused_ms)
            unused_ms = sum(item.wait.total_ms for item in group[1:])
            merged.append(reduce(joined, group))
        self.items = merged
        self._note()

    def fit_together(
        self, first: OutgoingMessage, second: OutgoingMessage, *, with_code: bool
    ) -> bool:
        """Return whether two neighbours may be joined."""
        return fits_together(first, second, self._limit, with_code=with_code)

    def widen_head(self) -> None:
        """Join as much as fits into the first message: only one may be sent (spec 04 O1)."""
        while len(self.items) > 1:
            first, second = self.items[0], self.items[1]
            length = utf16_len(first.text) + 1 + utf16_len(second.text)
            if first.identity != second.identity or length > self._limit:
                return
            self.items.popleft()
            self.items[0] = joined(first, second)

    def _note(self) -> None:
        self.wake()
        full = len(self.items) >= BOUND
        if full is not self.full:
            self.full = full
            self._room.clear() if full else self._room.set()


def fits_together(
    first: OutgoingMessage, second: OutgoingMessage, limit: int, *, with_code: bool = False
) -> bool:
    may_join = first.joinable(with_code=with_code) and second.joinable(with_code=with_code)
    if not may_join or first.identity != second.identity:
        return False
    return utf16_len(first.text) + 1 + utf16_len(second.text) <= limit
