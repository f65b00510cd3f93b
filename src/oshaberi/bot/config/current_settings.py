"""The settings that apply now: the operator's, with those of servers and channels on top."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from oshaberi.bot.config import LoadedSettings, Reloader, effective
from oshaberi.bot.config.all_settings import with_new_names
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.logs import set_level
from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.records import ModelRecord, PersonaRecord, StoredSettings
from oshaberi.bot.turns.caches import BoundedCache, StoredCache
from oshaberi.bot.turns.services.model_access import NOBODY_YET, OperatorChoices, OperatorModel
from oshaberi.delivery.attachments import DeliveryPlugIns
from oshaberi.delivery.config import live_remark
from oshaberi.errors import ConfigError
from oshaberi.languages.current_language import channel_language, reader_language
from oshaberi.providers.model_options import TokenPrice

# The operator's models, persona and display mode, for servers without their own.


def links(settings: LoadedSettings, environ: Mapping[str, str]) -> tuple[OperatorModel, ...]:
    """Return the operator's model chain, with the keys."""
    return tuple(
        OperatorModel(
            ModelRecord(
                server_id=0,
                provider=entry.provider,
                model=entry.model,
                base_url=entry.base_url,
                params=entry.all_params(),
                position=position,
            ),
            entry.keys(environ),
            None if entry.price is None else TokenPrice(**asdict(entry.price)),
            entry.endpoint_settings(),
        )
        for position, entry in enumerate(settings.models)
    )


def persona_of(settings: LoadedSettings) -> PersonaRecord:
    """Return the operator's default persona."""
    entry = settings.persona
    if entry is None:
        return NOBODY_YET
    return PersonaRecord(
        server_id=0,
        name=entry.name,
        prompt=entry.prompt,
        aliases=entry.aliases,
        triggers=entry.triggers,
        avatar_url=entry.avatar_url,
        is_default=True,
        is_age_restricted=entry.age_restricted,
        options=entry.options,
    )


def operator_choices(settings: LoadedSettings, environ: Mapping[str, str]) -> OperatorChoices:
    """Return what the settings say about models and answers."""
    return OperatorChoices(
        links(settings, environ),
        persona_of(settings),
        settings.turn,
        settings.allow_local_models,
    )


def plug_ins_of(settings: LoadedSettings) -> DeliveryPlugIns:
    """Return the installed plug-ins. Raises ConfigError if the display mode is not among them."""
    plug_ins = DeliveryPlugIns.installed()
    missing = plug_ins.missing(settings.stream.display_mode)
    if missing is not None:
        raise ConfigError(f"{missing} (from {settings.origin('display_mode')})")
    return plug_ins


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
    """Current settings. `operator` is changed with them."""

    def __init__(
        self,
        settings: LoadedSettings,
        environ: Mapping[str, str],
        db: Database,
        operator: OperatorChoices,
        plug_ins: DeliveryPlugIns,
    ) -> None:
        self.reloader = Reloader(settings, environ, self._take_up)
        self._held = settings
        _remark(settings)
        self._environ = environ
        self._db = db
        self._operator = operator
        self._plug_ins = plug_ins
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
            layers = stored.layers(path.ids)
            nearer = frozenset(name for layer in layers[:-1] for name in with_new_names(layer))
            settings = replace(effective(operators, *layers), of_channel=nearer)
            known = _Effective(operators, stored, settings)
            self._effective.put(key, known)
        return known.settings

    def _take_up(self, new: LoadedSettings) -> None:
        """Apply settings that may change at runtime, and replace only those that did."""
        old, self._held, operator = self._held, new, self._operator
        set_level(new.log_level)
        if new.stream != old.stream:
            _remark(new)
            self._plug_ins.tell_missing(new.stream.display_mode)
        if new.models != old.models:
            operator.models = links(new, self._environ)
        if new.persona != old.persona:
            operator.persona = persona_of(new)
        operator.turn, operator.allow_local_models = new.turn, new.allow_local_models


def _remark(settings: LoadedSettings) -> None:
    """Log a warning if two settings are each valid but do not work together."""
    if remark := live_remark(settings.stream):
        log.warning("%s", remark)
