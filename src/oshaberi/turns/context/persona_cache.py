"""Caches the personas of each server."""

from __future__ import annotations

import asyncio
import logging

from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.bounded_cache import BoundedCache
from oshaberi.turns.turn_services import MOST_SERVERS, TurnServices

log = logging.getLogger(__name__)

FRESH_SECONDS = 2.0
"""Every message of every channel asks; a change is seen at the latest after this."""

Personas = tuple[PersonaRecord, ...]


class PersonaCache:
    def __init__(self, services: TurnServices) -> None:
        self._services = services
        self._known: BoundedCache[int, tuple[float, Personas]] = BoundedCache(MOST_SERVERS)

    def forget(self, server_id: int) -> None:
        """Something about its personas has changed."""
        self._known.forget(server_id)

    async def of(self, server_id: int) -> Personas:
        """Never empty: without a default of its own a server has the operator's."""
        return _with_default(await self._stored(server_id), self._services.persona)

    async def _stored(self, server_id: int) -> Personas:
        now_s, store = asyncio.get_running_loop().time(), self._services.store
        known = self._known.get(server_id)
        if known is not None and now_s - known[0] < FRESH_SECONDS:
            return known[1]
        try:
            stored = () if store is None else await store.personas.of(server_id)
        except StorageError as error:
            if known is None:
                raise
            log.error("server %s keeps its personas as they were: %s", server_id, error)
            return known[1]
        self._known.put(server_id, (now_s, stored))
        return stored


def _with_default(stored: Personas, house: PersonaRecord) -> Personas:
    if any(persona.is_default for persona in stored):
        return stored
    return (house, *(persona for persona in stored if persona.name != house.name))
