"""Limits how many turns a process runs at once.

Others wait in order, with fair shares between servers.

A free slot goes to the waiting server with the fewest running turns; among equals servers take
turns, and within a server the turn goes first that has waited longest. While turns wait, at least
as many of those that run are hurried, beginning with the server that runs most: they end their
simulated waits, so that slow typing in many channels of one server does not keep others waiting.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import insort
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count, islice, zip_longest
from typing import Literal

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.delivery.typing_indicator import QUIET_SECONDS, TypingIndicator
from oshaberi.errors import OshaberiError
from oshaberi.stream.stops import ActiveChannel

log = logging.getLogger(__name__)

DEFAULT_SLOTS = 200
"""The largest number that was measured with nothing lost and everything in the journal
(docs/performance.md)."""
DEFAULT_WAIT_SECONDS = 120
CROWD = 50
"""With more turns than this at once, their first messages keep a core busy for a good part of a
second. Anything that these messages do not need is done later."""
NEAR_PLACES = 10
"""How many of the waiting turns are told that their turn is near."""


class NoTurnSlotError(OshaberiError):
    """No slot became free in time, or the process is ending."""

    def __init__(self, reason: Literal["waited too long", "ending"]) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True, eq=False)
class TurnPlace:
    """A turn that waits for a slot, then has one."""

    server: int
    hurry: Callable[[], None]
    near: asyncio.Event
    number: int = 0
    given: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    is_hurried: bool = False

    def __lt__(self, other: TurnPlace) -> bool:
        return self.number < other.number


def _goes_on() -> None:
    """Hurry a turn that has no simulated waits."""


class TurnSlots:
    """The slots of one process, and the turns that wait for one."""

    def __init__(
        self, slots: int = DEFAULT_SLOTS, max_wait_s: float = DEFAULT_WAIT_SECONDS
    ) -> None:
        self._slots = slots
        self._max_wait_s = max_wait_s
        self._taken = 0
        self._servers: dict[int, list[TurnPlace]] = {}
        """The waiting turns by server. Among equals the first server gets the next slot."""
        self._running: dict[int, list[TurnPlace]] = {}
        """The running turns by server."""
        self._hurried = 0
        """How many of the running turns were hurried."""
        self._numbers = count()
        self._left: dict[int, int] = {}
        """The queue numbers of channels that stopped waiting: a changed question keeps its
        place."""

    @property
    def is_crowded(self) -> bool:
        """Return whether so many turns run that typing indicators have to wait."""
        return self._taken > CROWD

    @property
    def is_free(self) -> bool:
        """Return whether a slot is free and no turn waits."""
        return self._taken < self._slots and not self._servers

    @property
    def taken(self) -> int:
        return self._taken

    @property
    def waiting(self) -> int:
        return sum(map(len, self._servers.values()))

    @asynccontextmanager
    async def slot(
        self,
        server_id: int,
        channel_id: int,
        near: asyncio.Event | None = None,
        hurry: Callable[[], None] = _goes_on,
    ) -> AsyncIterator[None]:
        """Hold a slot, or raise NoTurnSlotError. `near` is set when few turns wait before this one.

        `hurry` is called, at most once, when the turn has the slot and others wait for it.
        Server 0 is direct messages: each DM channel counts as a server.
        """
        place = TurnPlace(server_id or -channel_id, hurry, near or asyncio.Event())
        if self.is_free:
            self._begin(place)
        else:
            await self._wait(place, channel_id)
        try:
            yield
        finally:
            self._end(place)

    def dismiss_waiting(self) -> None:
        """Refuse a slot to all turns that wait, because the process is ending."""
        for place in self._in_order():
            if not place.given.done():
                place.given.set_exception(NoTurnSlotError("ending"))
        self._servers.clear()

    async def _wait(self, place: TurnPlace, channel_id: int) -> None:
        number = self._left.pop(channel_id, None)
        place.number = next(self._numbers) if number is None else number
        if not self._servers:
            log.warning("all %d slots for turns are taken: questions wait", self._slots)
        insort(self._servers.setdefault(place.server, []), place)
        self._give()
        try:
            async with asyncio.timeout(self._max_wait_s):
                await place.given
        except TimeoutError:
            if not _is_given(place):
                self._withdraw(place)
                raise NoTurnSlotError("waited too long") from None
        except asyncio.CancelledError:
            if _is_given(place):
                self._end(place)
            elif self._withdraw(place) and self._servers:
                self._left[channel_id] = place.number
            self._give()
            raise

    def _begin(self, place: TurnPlace) -> None:
        self._taken += 1
        self._running.setdefault(place.server, []).append(place)

    def _end(self, place: TurnPlace) -> None:
        self._taken -= 1
        running = self._running[place.server]
        running.remove(place)
        self._hurried -= place.is_hurried
        if not running:
            del self._running[place.server]
        self._give()

    def _give(self) -> None:
        """Give free slots to the turns that are next, and hurry others for those who still wait."""
        while self._servers and self._taken < self._slots:
            server = min(self._servers, key=self._share)
            places = self._servers.pop(server)
            place = places.pop(0)
            if places:
                self._servers[server] = places  # after all others
            if not place.given.done():  # otherwise it was cancelled and does not know yet
                place.given.set_result(None)
                self._begin(place)
        if not self._servers:
            self._left.clear()
        for place in islice(self._in_order(), NEAR_PLACES):
            place.near.set()
        self._hurry()

    def _share(self, server: int) -> int:
        return len(self._running.get(server, ()))

    def _hurry(self) -> None:
        """Hurry at least as many turns as wait. A server gives way to those that run fewer turns.

        It gives way with all of its turns, because it is unknown which of them will end soon.
        """
        if not self._servers or self._hurried >= min(self._taken, self.waiting):
            return
        waiting: Counter[int] = Counter()
        for server, places in self._servers.items():
            waiting[self._share(server)] += len(places)
        for running in sorted(self._running.values(), key=len, reverse=True):
            wanted = sum(places for share, places in waiting.items() if share < len(running))
            if self._hurried >= wanted:
                return
            for place in running:
                if not place.is_hurried:
                    place.is_hurried = True
                    self._hurried += 1
                    place.hurry()

    def _in_order(self) -> Iterator[TurnPlace]:
        rounds = zip_longest(*self._servers.values())
        return (place for one_each in rounds for place in one_each if place is not None)

    def _withdraw(self, place: TurnPlace) -> bool:
        places = self._servers.get(place.server, [])
        if place not in places:
            return False
        places.remove(place)
        if not places:
            del self._servers[place.server]
        return True


def _is_given(place: TurnPlace) -> bool:
    given = place.given
    return given.done() and not given.cancelled() and given.exception() is None


@asynccontextmanager
async def turn_slot(
    slots: TurnSlots, place: TurnChannel, channel: ActiveChannel, *, is_shown: bool
) -> AsyncIterator[None]:
    """Hold a slot. Raises NoTurnSlotError if there is none, InterruptedTurnError on a stop.

    With `is_shown` the reader sees the typing indicator when the turn is near.
    """
    async with AsyncExitStack() as stack:
        near = asyncio.Event()
        slot = slots.slot(place.server_id, place.channel_id, near, channel.hurry)
        stack.callback(channel.end_hurry)
        if slots.is_free:
            await stack.enter_async_context(slot)
        else:
            async with _typing_when(near, place) if is_shown else nullcontext():
                await channel.until_stopped(stack.enter_async_context(slot))
        yield


@asynccontextmanager
async def _typing_when(near: asyncio.Event, turn_channel: TurnChannel) -> AsyncIterator[None]:
    task = asyncio.create_task(_type_when(near, turn_channel))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _type_when(near: asyncio.Event, turn_channel: TurnChannel) -> None:
    """Show the typing indicator once the turn is near, until cancelled.

    A turn that begins at once shows its own indicator.
    """
    await near.wait()
    indicator = TypingIndicator()
    indicator.keep_alive(turn_channel.sink(None), after_seconds=QUIET_SECONDS)
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await indicator.close()
