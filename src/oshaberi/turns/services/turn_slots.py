"""Limits how many turns a process runs at once. Others wait in order, fairly between servers.

Servers take turns: each free slot goes to the next server that waits, and within a server to the
turn that has waited longest. Nothing here knows Discord, or what a turn does.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import insort
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, islice, zip_longest
from typing import Literal

from oshaberi.errors import OshaberiError

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
class WaitingPlace:
    """A turn that waits for a slot."""

    number: int
    given: asyncio.Future[None]
    near: asyncio.Event = field(default_factory=asyncio.Event)

    def __lt__(self, other: WaitingPlace) -> bool:
        return self.number < other.number


class TurnSlots:
    """The slots of one process, and the turns that wait for one."""

    def __init__(
        self, slots: int = DEFAULT_SLOTS, max_wait_s: float = DEFAULT_WAIT_SECONDS
    ) -> None:
        self._slots = slots
        self._max_wait_s = max_wait_s
        self._taken = 0
        self._servers: dict[int, list[WaitingPlace]] = {}
        """The waiting turns by server. The first server is the next one to get a slot."""
        self._numbers = count()
        self._left: dict[int, int] = {}
        """The queue numbers of channels that stopped waiting: a changed question keeps its
        place."""

    @property
    def is_crowded(self) -> bool:
        """Tell whether so many turns run that typing indicators have to wait."""
        return self._taken > CROWD

    @property
    def is_free(self) -> bool:
        """Tell whether a slot is free and no turn waits."""
        return self._taken < self._slots and not self._servers

    @property
    def taken(self) -> int:
        return self._taken

    @property
    def waiting(self) -> int:
        return sum(map(len, self._servers.values()))

    @asynccontextmanager
    async def slot(
        self, server_id: int, channel_id: int, near: asyncio.Event | None = None
    ) -> AsyncIterator[None]:
        """Hold a slot, or raise NoTurnSlotError. `near` is set when few turns wait before this one.

        Server 0 is direct messages: each DM channel counts as a server.
        """
        if self.is_free:
            self._taken += 1
        else:
            await self._wait(server_id or -channel_id, channel_id, near or asyncio.Event())
        try:
            yield
        finally:
            self._taken -= 1
            self._give()

    def dismiss_waiting(self) -> None:
        """Refuse a slot to all turns that wait, because the process is ending."""
        for place in self._in_order():
            if not place.given.done():
                place.given.set_exception(NoTurnSlotError("ending"))
        self._servers.clear()

    async def _wait(self, server: int, channel_id: int, near: asyncio.Event) -> None:
        number = self._left.pop(channel_id, None)
        number = next(self._numbers) if number is None else number
        place = WaitingPlace(number, asyncio.get_running_loop().create_future(), near)
        if not self._servers:
            log.warning("all %d slots for turns are taken: questions wait", self._slots)
        insort(self._servers.setdefault(server, []), place)
        self._give()
        try:
            async with asyncio.timeout(self._max_wait_s):
                await place.given
        except TimeoutError:
            if not _is_given(place):
                self._withdraw(server, place)
                raise NoTurnSlotError("waited too long") from None
        except asyncio.CancelledError:
            if _is_given(place):
                self._taken -= 1
            elif self._withdraw(server, place) and self._servers:
                self._left[channel_id] = number
            self._give()
            raise

    def _give(self) -> None:
        """Give free slots to the turns that are next."""
        while self._servers and self._taken < self._slots:
            server, places = next(iter(self._servers.items()))
            del self._servers[server]
            place = places.pop(0)
            if places:
                self._servers[server] = places  # behind all others
            if not place.given.done():  # else it is cancelled, and has not heard of it yet
                place.given.set_result(None)
                self._taken += 1
        if not self._servers:
            self._left.clear()
        for place in islice(self._in_order(), NEAR_PLACES):
            place.near.set()

    def _in_order(self) -> Iterator[WaitingPlace]:
        rounds = zip_longest(*self._servers.values())
        return (place for one_each in rounds for place in one_each if place is not None)

    def _withdraw(self, server: int, place: WaitingPlace) -> bool:
        places = self._servers.get(server, [])
        if place not in places:
            return False
        places.remove(place)
        if not places:
            del self._servers[server]
        return True


def _is_given(place: WaitingPlace) -> bool:
    given = place.given
    return given.done() and not given.cancelled() and given.exception() is None
