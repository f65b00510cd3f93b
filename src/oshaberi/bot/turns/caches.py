"""Bounded caches, locks by key, and values of the database kept until it reports a change."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from oshaberi.bot.storage.changes import ChangeFeed, ChangeKind, Stamp
from oshaberi.bot.storage.errors import StorageError
from oshaberi.clocks import loop_time_s

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(OrderedDict[K, V]):
    """A dictionary of the newest `most` entries, if they are stored with `put`."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: K, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)

    def forget(self, key: K) -> None:
        self.pop(key, None)


class KeyedLocks(Generic[K]):
    """One lock per key, first come, first served. Only keys in use are kept."""

    def __init__(self) -> None:
        self._locks: dict[K, asyncio.Lock] = {}
        self._users: dict[K, int] = {}

    def __len__(self) -> int:
        return len(self._locks)

    def __contains__(self, key: K) -> bool:
        return key in self._locks

    @asynccontextmanager
    async def through(self, key: K) -> AsyncIterator[None]:
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] = self._users.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._locks[key]


log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Read(Generic[V]):
    """A cached value. `stamps` were taken before it was read, `at_s` is when.

    `news` is the feed's number at which the stamps were last known to be unchanged.
    """

    value: V
    stamps: tuple[Stamp, ...]
    at_s: float
    news: int


class StoredCache(Generic[K, V]):
    """A cache. `kinds` are the kinds of changes that make a value invalid.

    While the database is down, the last known value is used. Concurrent callers share one read.
    """

    def __init__(self, most: int, *kinds: ChangeKind) -> None:
        self._kinds = kinds
        self._known: BoundedCache[K, _Read[V]] = BoundedCache(most)
        self._loading: dict[K, asyncio.Future[None]] = {}
        self._has_logged = False

    def forget(self, key: K) -> None:
        self._known.forget(key)

    async def get(
        self, feed: ChangeFeed, key: K, owner: int | str, load: Callable[[], Awaitable[V]]
    ) -> V:
        """Return a value. `owner` is as in `StoredChange`.

        Raises StorageError if the database is down and no value is known.
        """
        while (known := self._valid(feed, key, owner)) is None:
            other = self._loading.get(key)
            if other is None:
                return await self._load(feed, key, owner, load)
            await asyncio.wait({other})
        return known.value

    def _valid(self, feed: ChangeFeed, key: K, owner: int | str) -> _Read[V] | None:
        known, fresh_s = self._known.get(key), feed.fresh_s
        if known is None:
            return None
        if known.news != feed.news:
            if known.stamps != self._stamps(feed, owner):
                return None
            known.news = feed.news
        if fresh_s is None:
            return known
        age_s = loop_time_s() - known.at_s
        return known if age_s < fresh_s else None

    async def _load(
        self, feed: ChangeFeed, key: K, owner: int | str, load: Callable[[], Awaitable[V]]
    ) -> V:
        """Read a value. If it changes meanwhile, its stamp differs and it is read again."""
        stamps, news, now_s = self._stamps(feed, owner), feed.news, loop_time_s()
        over = self._loading[key] = asyncio.get_running_loop().create_future()
        try:
            value = await load()
        except StorageError as error:
            known = self._known.get(key)
            if known is None:
                raise
            self._log_once(owner, error)
            return known.value
        finally:
            del self._loading[key]
            over.set_result(None)
        self._has_logged = False
        self._known.put(key, _Read(value, stamps, now_s, news))
        return value

    def _stamps(self, feed: ChangeFeed, owner: int | str) -> tuple[Stamp, ...]:
        return tuple(feed.stamp(kind, owner) for kind in self._kinds)

    def _log_once(self, owner: int | str, error: StorageError) -> None:
        """Log an outage once, until reading works again."""
        if not self._has_logged:
            self._has_logged = True
            what = " and ".join(self._kinds)
            log.error("the %s of %s stay as they were: %s", what, owner, error)
