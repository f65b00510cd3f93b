"""The settings that apply now: the operator's, with those of servers and channels on top."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from oshaberi.bot.settings.operator_defaults import links, persona_of
from oshaberi.config import EffectiveSettings, LoadedSettings, Reloader, effective
from oshaberi.conversation.channel_path import ChannelPath
from oshaberi.delivery.degree_policy import live_remark
from oshaberi.languages.language_choice import channel_language, reader_language
from oshaberi.logs import set_level
from oshaberi.storage import Database, StorageError
from oshaberi.storage.stored_records import StoredSettings
from oshaberi.turns.bounded_cache import BoundedCache
from oshaberi.turns.services.turn_services import TurnServices
from oshaberi.turns.stored_cache import StoredCache

log = logging.getLogger(__name__)

MOST_SERVERS = 1000
MOST_PLACES = 4000


@dataclass(frozen=True, slots=True)
class _Effective:
    """Effective settings, and the values from which they were computed."""

    operators: LoadedSettings
    stored: StoredSettings
    settings: EffectiveSettings


class CurrentSettings:
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
        self._stored: StoredCache[int, StoredSettings] = StoredCache(MOST_SERVERS, "settings")
        self._effective: BoundedCache[tuple[int, ...], _Effective] = BoundedCache(MOST_PLACES)

    async def language_of(self, path: ChannelPath, locale: str) -> str:
        """Return the language of notices in a channel. `locale` is that of its server.

        While the database is down and the settings are unknown, it is the server's.
        """
        try:
            settings = await self.of(path)
        except StorageError:
            return reader_language(locale)
        return channel_language(settings.turn.language, locale)

    def operators(self) -> LoadedSettings:
        return self.reloader.current

    async def of(self, path: ChannelPath) -> EffectiveSettings:
        """Return a channel's settings; the last known ones while the database is down.

        Raises StorageError if none are known: then the lists of blocked users are unknown too.
        """
        db, operators, server_id = self._db, self.operators(), path.server_id
        load = db.servers.settings
        stored = await self._stored.get(db.changes, server_id, server_id, lambda: load(server_id))
        # Channels without settings of their own share an entry.
        key = (server_id, *(one for one in path.ids if one in stored.channels))
        known = self._effective.get(key)
        if known is None or known.operators is not operators or known.stored is not stored:
            known = _Effective(operators, stored, effective(operators, *stored.layers(path.ids)))
            self._effective.put(key, known)
        return known.settings

    def _take_up(self, new: LoadedSettings) -> None:
        """Apply settings that may change at runtime. Replaces only those that changed."""
        old, self._held, services = self._held, new, self._services()
        set_level(new.log_level)
        if new.stream != old.stream:
            _remark(new)
            services.plug_ins.tell_missing(new.stream.display_mode)
        if new.models != old.models:
            services.models = links(new, self._environ)
        if new.persona != old.persona:
            services.persona = persona_of(new)


def _remark(settings: LoadedSettings) -> None:
    """Log a warning if two settings are each valid but do not work together."""
    if remark := live_remark(settings.stream):
        log.warning("%s", remark)
