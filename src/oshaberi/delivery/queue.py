"""The messages that wait to be sent: how each is made and how long a person would type it, their
order, and when they are joined.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import reduce
from hashlib import blake2b
from typing import Any

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.attachments import (
    DeliveryPlugIns,
    RenderedBlock,
    TableRenderer,
    as_code,
    block_files,
    rendered_block,
    table_files,
)
from oshaberi.delivery.config import StreamConfig, paces
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import File
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Attachment, Identity, Message, Table
from oshaberi.text.measure import utf16_len

BOUND = 64
"""From so many waiting messages on the reader waits for room, *before* it makes more: so no
message is held elsewhere, and the limit is soft."""
CODE_FACTOR = 1.25

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


def typing_ms(text: str, config: StreamConfig) -> float:
    shortest = float(config.min_visible_typing_duration_ms)
    if text.startswith("```"):
        shortest *= CODE_FACTOR
    typed = len(text) * config.base_type_speed_ms_per_char
    return min(max(typed, shortest), config.max_typing_time_ms)


def table_typing_ms(config: StreamConfig) -> float:
    return min(config.min_visible_typing_duration_ms, config.max_typing_time_ms)


def pause_ms(number: int, config: StreamConfig) -> float:
    """Return the thinking pause before a message in ms; mostly 0."""
    if _drawn("chance", number, config) >= config.thinking_pause_chance:
        return 0
    least, most = config.min_random_pause_ms, config.max_random_pause_ms
    return least + int(_drawn("pause", number, config) * (most - least + 1))


def _drawn(what: str, number: int, config: StreamConfig) -> float:
    """Return a number from 0 up to 1. To seed a `random.Random` would take ten times as long."""
    source = f"pace {what} {config.text.seed} {number}".encode()
    return int.from_bytes(blake2b(source, digest_size=4).digest()) / 2**32


class OutgoingMessage:
    """A Discord message that waits. After the first attempt it does not change.

    `entries` are its places in the ledger. `history` is how it reads in the model's history: with
    its label, a table as its source. A `block` is a code block that becomes a file.
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


def history_of(event: Message | Table) -> str:
    """Return the text for the model's history, with the label the model wrote (spec 06 S2.3)."""
    text = event.source if isinstance(event, Table) else event.text
    if event.labelled and event.identity is not None:
        return f"{event.identity.label}: {text}"
    return text


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
            self.closed_at = loop_time_s()
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
        """Return whether `least` messages wait, or no more will come."""
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

    def join_waiting(self, join_from: int) -> None:
        """Join neighbours, from `join_from` waiting messages on (spec 07, falling behind)."""
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

    def fit_together(
        self, first: OutgoingMessage, second: OutgoingMessage, *, with_code: bool
    ) -> bool:
        """Return whether two neighbours may be joined."""
        return fits_together(first, second, self._limit, with_code=with_code)

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


def fits_together(
    first: OutgoingMessage, second: OutgoingMessage, limit: int, *, with_code: bool = False
) -> bool:
    may_join = first.joinable(with_code=with_code) and second.joinable(with_code=with_code)
    if not may_join or first.identity != second.identity:
        return False
    return utf16_len(first.text) + 1 + utf16_len(second.text) <= limit


def _attached(event: Message | Table) -> File | None:
    """Return the file of a picture or a sound; None if there is only its name."""
    if not isinstance(event, Attachment) or not event.content:
        return None
    return File(event.name, event.content, source=event.text)


async def _only(file: File) -> tuple[File, ...]:
    return (file,)


class OutgoingBuilder:
    """Makes the messages of a response from the engine's events, and numbers them."""

    def __init__(
        self,
        config: StreamConfig,
        response: ResponseState,
        renderer: TableRenderer,
        plug_ins: DeliveryPlugIns,
        waits: InterruptibleWaits,
    ) -> None:
        self._config = config
        self._response = response
        self._renderer = renderer
        self._plug_ins = plug_ins
        self._has_blocks = bool(plug_ins.attachments)
        self._waits = waits
        self._paces = paces(config)

    def pack(self, event: Message | Table, entry: int) -> OutgoingMessage:
        """Make a message. `entry` is its place in the ledger."""
        number = self._response.next_number()
        text = "" if isinstance(event, Table) else event.text
        return OutgoingMessage(
            number=number,
            text=text,
            identity=event.identity,
            entries=(entry,),
            history=history_of(event),
            ready_at=self._waits.now(),
            wait=self._wait(number, event),
            table=event if isinstance(event, Table) else None,
            block=rendered_block(text, self._plug_ins) if self._has_blocks else None,
            attached=_attached(event),
        )

    def files(self, item: OutgoingMessage) -> Coroutine[Any, Any, tuple[File, ...]]:
        """Return the files that the message becomes; none if it is sent as text."""
        if item.attached is not None:
            return _only(item.attached)
        if item.table is not None:
            number = self._response.next_table()
            return table_files(item.table, number, self._config, self._renderer, self._waits)
        assert item.block is not None, "see `becomes_file`"
        return block_files(item.block, self._plug_ins, self._waits)

    def as_text(self, item: OutgoingMessage) -> list[OutgoingMessage]:
        """Return the messages of a table as code. Its history belongs to the last one."""
        if item.table is None:
            return [item.with_text(item.number, item.text, item.history)]
        *before, last = as_code(item.table, self._config, self._renderer)
        parts = [item.with_text(self._response.next_number(), text, "") for text in before]
        return [*parts, item.with_text(item.number, last, item.history)]

    def _wait(self, number: int, event: Message | Table) -> Wait:
        config = self._config
        if not self._paces:
            return Wait(0, 0)
        if isinstance(event, Table):
            return Wait(pause_ms(number, config), table_typing_ms(config))
        return Wait(pause_ms(number, config), typing_ms(event.text, config))
