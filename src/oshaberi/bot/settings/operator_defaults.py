"""The operator's models, persona and display mode, for servers without their own."""

from __future__ import annotations

from collections.abc import Mapping

from oshaberi.config import LoadedSettings
from oshaberi.delivery.delivery_plug_ins import DeliveryPlugIns
from oshaberi.errors import ConfigError
from oshaberi.storage.stored_records import ModelRecord, PersonaRecord
from oshaberi.turns.services.model_candidates import OperatorModel
from oshaberi.turns.services.turn_services import NOBODY_YET


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
            None if entry.price is None else (entry.price.input, entry.price.output),
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
    )


def plug_ins_of(settings: LoadedSettings) -> DeliveryPlugIns:
    """Return the installed plug-ins. Raises ConfigError if the display mode is not among them."""
    plug_ins = DeliveryPlugIns.installed()
    missing = plug_ins.missing(settings.stream.display_mode)
    if missing is not None:
        raise ConfigError(f"{missing} (from {settings.origin('display_mode')})")
    return plug_ins
