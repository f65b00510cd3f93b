"""Caches values read from the database, until its feed reports a change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from oshaberi.storage.changes.change_feed import ChangeFeed, ChangeKind, Stamp
from oshaberi.storage.storage_errors import StorageError
from oshaberi.turns.bounded_cache import BoundedCache

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
        self._told = False

    def forget(self, key: K) -> None:
        self._known.forget(key)

    async def get(
        self, feed: ChangeFeed, key: K, owner: int | str, load: Callable[[], Awaitable[V]]
    ) -> V:
        """Return a value. `owner` is as in `StoredChange`.

        Raises StorageError if the database is down and no value is known.
        """
        while (known := self._true(feed, key, owner)) is None:
            other = self._loading.get(key)
            if other is None:
                return await self._load(feed, key, owner, load)
            await asyncio.wait({other})
        return known.value

    def _true(self, feed: ChangeFeed, key: K, owner: int | str) -> _Read[V] | None:
        known, fresh_s = self._known.get(key), feed.fresh_s
        if known is None:
            return None
        if known.news != feed.news:
            if known.stamps != self._stamps(feed, owner):
                return None
            known.news = feed.news
        if fresh_s is None:
            return known
        age_s = asyncio.get_running_loop().time() - known.at_s
        return known if age_s < fresh_s else None

    async def _load(
        self, feed: ChangeFeed, key: K, owner: int | str, load: Callable[[], Awaitable[V]]
    ) -> V:
        """Read a value. If it changes meanwhile, its stamp differs and it is read again."""
        loop = asyncio.get_running_loop()
        stamps, news, now_s = self._stamps(feed, owner), feed.news, loop.time()
        over = self._loading[key] = loop.create_future()
        try:
            value = await load()
        except StorageError as error:
            known = self._known.get(key)
            if known is None:
                raise
            self._tell(owner, error)
            return known.value
        finally:
            del self._loading[key]
            over.set_result(None)
        self._told = False
        self._known.put(key, _Read(value, stamps, now_s, news))
        return value

    def _stamps(self, feed: ChangeFeed, owner: int | str) -> tuple[Stamp, ...]:
        return tuple(feed.stamp(kind, owner) for kind in self._kinds)

    def _tell(self, owner: int | str, error: StorageError) -> None:
        """Log an outage once, until reading works again."""
        if not self._told:
            self._told = True
            what = " and ".join(self._kinds)
            log.error("the %s of %s stay as they were: %s", what, owner, error)
