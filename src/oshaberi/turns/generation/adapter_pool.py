"""Keeps provider adapters for reuse; each is made when it is first needed."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from oshaberi.providers.adapter_registry import connect
from oshaberi.stream.provider_protocol import Provider

log = logging.getLogger(__name__)

KEPT = 64

Address = tuple[str, str, str | None, str | None]
"""Provider, model, base URL, key."""


class ConnectedAdapter(Provider, Protocol):
    """An adapter as a turn sees it."""

    text: Mapping[str, Any]
    """Text settings that this model wants otherwise."""

    async def aclose(self) -> None: ...


Connect = Callable[..., ConnectedAdapter]
"""Called as `connect(provider, model, api_key=…, base_url=…)`, in a thread: SDKs load slowly."""


@dataclass(slots=True)
class _PoolEntry:
    made: asyncio.Future[ConnectedAdapter]
    users: int = 0


class AdapterPool:
    """Keeps up to `limit` adapters; those in use are never closed."""

    def __init__(self, connect: Connect = connect, limit: int = KEPT) -> None:
        self._connect = connect
        self._limit = limit
        self._entries: OrderedDict[Address, _PoolEntry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @asynccontextmanager
    async def lease(
        self, provider: str, model: str, base_url: str | None, key: str | None
    ) -> AsyncIterator[ConnectedAdapter]:
        """An adapter for as long as it is used. Raises what `connect` raises."""
        address = (provider, model, base_url, key)
        entry = self._entry(address)
        entry.users += 1
        try:
            # Others may wait for it too, so whoever gives up must not take it with them.
            yield await asyncio.shield(entry.made)
        finally:
            entry.users -= 1
            self._forget_failed(address, entry)
            await self._trim()

    async def warm(self, provider: str, model: str, base_url: str | None, key: str | None) -> None:
        """Make it ready; who waits here may be cancelled at once."""
        async with self.lease(provider, model, base_url, key):
            pass

    async def aclose(self) -> None:
        """Close all of them. Call it when no turn runs any more."""
        entries = list(self._entries.values())
        self._entries.clear()
        for entry in entries:
            await _close(entry)

    def _entry(self, address: Address) -> _PoolEntry:
        entry = self._entries.get(address)
        if entry is None:
            entry = self._entries[address] = _PoolEntry(asyncio.ensure_future(self._make(address)))
        self._entries.move_to_end(address)
        return entry

    async def _make(self, address: Address) -> ConnectedAdapter:
        provider, model, base_url, key = address
        return await asyncio.to_thread(
            self._connect, provider, model, api_key=key, base_url=base_url
        )

    def _forget_failed(self, address: Address, entry: _PoolEntry) -> None:
        if not entry.made.done() or not (entry.made.cancelled() or entry.made.exception()):
            return
        if self._entries.get(address) is entry:
            del self._entries[address]

    async def _trim(self) -> None:
        while len(self._entries) > self._limit:
            idle = (address for address, entry in self._entries.items() if not entry.users)
            oldest = next(idle, None)
            if oldest is None:
                return
            await _close(self._entries.pop(oldest))


async def _close(entry: _PoolEntry) -> None:
    try:
        adapter = await entry.made
        await adapter.aclose()
    except Exception as error:
        # It is let go either way; an adapter that never came to be has nothing to close.
        log.info("an adapter did not close: %s", error)
