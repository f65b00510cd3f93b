"""What holds now: the operator's settings, read again when they change, each server's on top."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from oshaberi.bot.operator import links, persona_of
from oshaberi.config import Effective, Reloader, Settings, effective
from oshaberi.logs import set_level
from oshaberi.storage import Database, StorageError
from oshaberi.turns.recent import Recent
from oshaberi.turns.services import Services

log = logging.getLogger(__name__)

MOST_SERVERS = 1000


class Standing:
    """`services` are told of new models and another persona."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        db: Database,
        services: Callable[[], Services],
    ) -> None:
        self.reloader = Reloader(settings, environ, self._take_up)
        self._held = settings
        self._environ = environ
        self._db = db
        self._services = services
        self._known: Recent[int, Mapping[str, Any]] = Recent(MOST_SERVERS)

    def operators(self) -> Settings:
        return self.reloader.current

    async def of(self, server_id: int) -> Effective:
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

    def _take_up(self, new: Settings) -> None:
        """What may change while the bot runs; what the file leaves alone stays as it was chosen."""
        old, self._held, services = self._held, new, self._services()
        set_level(new.log_level)
        if new.models != old.models:
            services.models = links(new, self._environ)
        if new.persona != old.persona:
            services.persona = persona_of(new)
