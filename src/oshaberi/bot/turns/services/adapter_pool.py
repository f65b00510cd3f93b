"""Keeps provider adapters for reuse; each is made when it is first needed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from oshaberi.providers.capabilities import LearnedLimits
from oshaberi.providers.registry import connect as registered
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.preparation import FittedRequest
from oshaberi.stream.provider_protocol import Provider

log = logging.getLogger(__name__)

KEPT = 64
NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})

Address = tuple[str, str, str | None, str | None, str]
"""Provider, model, base URL, key, and settings of the endpoint as JSON."""


class ConnectedAdapter(Provider, Protocol):
    """An adapter, as a turn uses it."""

    text: Mapping[str, Any]
    """Text settings that are different for this model."""
    continues: bool
    """Whether an answer that ran out of tokens says how to continue it."""

    def takes_prefill(self, request: Request) -> bool:
        """Return whether the model continues the request's `prefill`."""

    def left_out(self, request: Request, share: float = 1.0) -> Coroutine[Any, Any, frozenset[int]]:
        """Return the indexes of the items that do not fit into the model's window."""

    def fitted(self, request: Request) -> Coroutine[Any, Any, FittedRequest]:
        """Return the request as it would be sent, within the model's window."""

    async def aclose(self) -> None: ...


Connect = Callable[..., ConnectedAdapter]
"""Called as `connect(provider, model, api_key=…, base_url=…, **settings)`, in a thread: SDKs load
slowly. `settings` are those of the model's options that belong to its endpoint."""


@dataclass(slots=True)
class _PoolEntry:
    made: asyncio.Future[ConnectedAdapter]
    users: int = 0


class AdapterPool:
    """Keeps up to `limit` adapters; those in use are never closed.

    `learned` has what endpoints refused, for all adapters. If you pass your own `connect`, give it
    `learned` yourself (`functools.partial`).
    """

    def __init__(
        self,
        connect: Connect | None = None,
        limit: int = KEPT,
        learned: LearnedLimits | None = None,
    ) -> None:
        self.learned = learned or LearnedLimits()
        self._connect = connect or partial(registered, learned=self.learned)
        self._limit = limit
        self._entries: OrderedDict[Address, _PoolEntry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @asynccontextmanager
    async def lease(
        self,
        provider: str,
        model: str,
        base_url: str | None,
        key: str | None,
        settings: Mapping[str, Any] = NO_SETTINGS,
    ) -> AsyncIterator[ConnectedAdapter]:
        """Yield an adapter for the block. Raises what `connect` raises."""
        address = (provider, model, base_url, key, json.dumps(dict(settings), sort_keys=True))
        entry = self._entry(address)
        entry.users += 1
        try:
            # Others may wait for it too, so a cancelled caller must not cancel it.
            yield await asyncio.shield(entry.made)
        finally:
            entry.users -= 1
            self._forget_failed(address, entry)
            await self._trim()

    async def warm(
        self,
        provider: str,
        model: str,
        base_url: str | None,
        key: str | None,
        settings: Mapping[str, Any] = NO_SETTINGS,
    ) -> None:
        """Prepare an adapter in advance. The caller may be cancelled at any time."""
        async with self.lease(provider, model, base_url, key, settings):
            pass

    async def aclose(self) -> None:
        """Close all adapters. Call it when no turn is running any more."""
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
        provider, model, base_url, key, settings = address
        return await asyncio.to_thread(
            self._connect, provider, model, api_key=key, base_url=base_url, **json.loads(settings)
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
        # It is dropped either way; an adapter that was never made has nothing to close.
        log.info("an adapter did not close: %s", error)
