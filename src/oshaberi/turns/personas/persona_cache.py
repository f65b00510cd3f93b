"""Caches the personas of each server until they are changed."""

from __future__ import annotations

from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.services.turn_services import MOST_SERVERS, TurnServices
from oshaberi.turns.stored_cache import StoredCache

Personas = tuple[PersonaRecord, ...]


class PersonaCache:
    def __init__(self, services: TurnServices) -> None:
        self._services = services
        self._known: StoredCache[int, Personas] = StoredCache(MOST_SERVERS, "personas")

    def forget(self, server_id: int) -> None:
        """Drop a server's personas, because they have changed."""
        self._known.forget(server_id)

    async def of(self, server_id: int) -> Personas:
        """Return a server's personas; without a default one, the operator's is added."""
        return _with_default(await self._stored(server_id), self._services.persona)

    async def _stored(self, server_id: int) -> Personas:
        store = self._services.store
        if store is None:
            return ()
        load = store.personas.of
        return await self._known.get(store.changes, server_id, server_id, lambda: load(server_id))


def _with_default(stored: Personas, house: PersonaRecord) -> Personas:
    if any(persona.is_default for persona in stored):
        return stored
    return (house, *(persona for persona in stored if persona.name != house.name))
