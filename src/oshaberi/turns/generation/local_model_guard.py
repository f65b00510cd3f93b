"""Refuses local models and plug-ins that the settings file does not list, unless allowed.

It checks when a model is chosen and each time it is used: by then the host name may have another
address.
"""

from __future__ import annotations

from oshaberi.errors import Sentence
from oshaberi.providers.local_addresses import is_local
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.turns.services.turn_services import TurnServices

LOCAL_MODEL = Sentence(
    "This model is on the machine or in the network of the bot, or a plug-in of it. Only whoever "
    "runs the bot can choose it: in its settings file, or by setting allow_local_models there."
)


async def may_ask_model(services: TurnServices, model: ModelRecord) -> bool:
    """Tell whether the model may be asked. A model in the operator's settings always may."""
    if services.allow_local_models() or is_listed(services, model):
        return True
    return not await is_local(model.provider, model.base_url)


def is_listed(services: TurnServices, model: ModelRecord) -> bool:
    place = (model.provider, model.model, model.base_url)
    listed = (link.model for link in services.models)
    return any((one.provider, one.model, one.base_url) == place for one in listed)
