"""The personas of each server, looked up once and then remembered for a moment."""

from __future__ import annotations

from datetime import datetime, timedelta

from oshaberi.storage.records import PersonaRecord
from oshaberi.turns.recent import Recent
from oshaberi.turns.services import Services

FRESH = timedelta(seconds=2)
"""Every message of every channel asks; a change is seen at the latest after this."""
MOST_SERVERS = 1000

Personas = tuple[PersonaRecord, ...]


class Cast:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: Recent[int, tuple[datetime, Personas]] = Recent(MOST_SERVERS)

    async def of(self, server_id: int) -> Personas:
        """Never empty: without a default of its own a server has the operator's."""
        now = self._services.clock()
        known = self._known.get(server_id)
        if known is not None and now - known[0] < FRESH:
            return known[1]
        store = self._services.store
        stored = () if store is None else await store.personas.of(server_id)
        personas = _with_default(stored, self._services.persona)
        self._known.put(server_id, (now, personas))
        return personas


def _with_default(stored: Personas, house: PersonaRecord) -> Personas:
    if any(persona.is_default for persona in stored):
        return stored
    return (house, *(persona for persona in stored if persona.name != house.name))
