"""The settings that apply now: the operator's, reloaded on change, with each server's on top."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.bot.operator_defaults import links, persona_of
from oshaberi.config import EffectiveSettings, LoadedSettings, Reloader, effective
from oshaberi.delivery.degree_policy import live_remark
from oshaberi.logs import set_level
from oshaberi.storage import Database
from oshaberi.turns.bounded_cache import BoundedCache
from oshaberi.turns.stored_cache import StoredCache
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

MOST_SERVERS = 1000


@dataclass(frozen=True, slots=True)
class _Effective:
    """Effective settings, and the values they were made from."""

    operators: LoadedSettings
    changed: Mapping[str, Any]
    settings: EffectiveSettings


class LiveSettings:
    """Current settings. `services` gets new models and a new persona."""

    def __init__(
        self,
        settings: LoadedSettings,
        environ: Mapping[str, str],
        db: Database,
        services: Callable[[], TurnServices],
    ) -> None:
        self.reloader = Reloader(settings, environ, self._take_up)
        self._held = settings
        _remark(settings)
        self._environ = environ
        self._db = db
        self._services = services
        self._changed: StoredCache[int, Mapping[str, Any]] = StoredCache(MOST_SERVERS, "settings")
        self._effective: BoundedCache[int, _Effective] = BoundedCache(MOST_SERVERS)

    def operators(self) -> LoadedSettings:
        return self.reloader.current

    async def of(self, server_id: int) -> EffectiveSettings:
        """Return a server's settings; the last known ones while the database is down.

        Raises StorageError if none are known: its lists of blocked users are unknown then
        too.
        """
        db, operators = self._db, self.operators()
        load = db.servers.config
        changed = await self._changed.get(db.changes, server_id, server_id, lambda: load(server_id))
        known = self._effective.get(server_id)
        if known is None or known.operators is not operators or known.changed is not changed:
            known = _Effective(operators, changed, effective(operators, changed))
            self._effective.put(server_id, known)
        return known.settings

    def _take_up(self, new: LoadedSettings) -> None:
        """Apply settings that may change at runtime. Only changed ones are replaced."""
        old, self._held, services = self._held, new, self._services()
        set_level(new.log_level)
        if new.stream != old.stream:
            _remark(new)
        if new.models != old.models:
            services.models = links(new, self._environ)
        if new.persona != old.persona:
            services.persona = persona_of(new)


def _remark(settings: LoadedSettings) -> None:
    """Log what the settings do not do together, though each of them is fine."""
    if remark := live_remark(settings.stream):
        log.warning("%s", remark)
