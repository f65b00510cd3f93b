"""What holds now: the operator's settings, read again when they change, each server's on top."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from oshaberi.bot.operator_defaults import links, persona_of
from oshaberi.config import EffectiveSettings, LoadedSettings, Reloader, effective
from oshaberi.logs import set_level
from oshaberi.storage import Database, StorageError
from oshaberi.turns.bounded_cache import BoundedCache
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

MOST_SERVERS = 1000


class LiveSettings:
    """`services` are told of new models and another persona."""

    def __init__(
        self,
        settings: LoadedSettings,
        environ: Mapping[str, str],
        db: Database,
        services: Callable[[], TurnServices],
    ) -> None:
        self.reloader = Reloader(settings, environ, self._take_up)
        self._held = settings
        self._environ = environ
        self._db = db
        self._services = services
        self._known: BoundedCache[int, Mapping[str, Any]] = BoundedCache(MOST_SERVERS)

    def operators(self) -> LoadedSettings:
        return self.reloader.current

    async def of(self, server_id: int) -> EffectiveSettings:
        return effective(self.operators(), await self._changed(server_id))

    async def _changed(self, server_id: int) -> Mapping[str, Any]:
        """By its admins. While the database is away, what was known last."""
        try:
            changed = await self._db.servers.config(server_id)
        except StorageError as error:
            known = self._known.get(server_id)
            if known is None:
                raise  # whom it blocks nobody knows
            log.error("server %s keeps its settings as they were: %s", server_id, error)
            return known
        self._known.put(server_id, changed)
        return changed

    def _take_up(self, new: LoadedSettings) -> None:
        """What may change while the bot runs; what the file leaves alone stays as it was chosen."""
        old, self._held, services = self._held, new, self._services()
        set_level(new.log_level)
        if new.models != old.models:
            services.models = links(new, self._environ)
        if new.persona != old.persona:
            services.persona = persona_of(new)
