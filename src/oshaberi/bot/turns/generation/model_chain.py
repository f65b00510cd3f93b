"""The models of a channel in order, each with its keys, and which local ones are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.storage.repositories.models import KeyScope, key_scope
from oshaberi.bot.turns.services.models import (
    ModelCandidate,
    OperatorModel,
    StoredChains,
    is_same_model,
)
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.bot.turns.turn_store import TurnStore
from oshaberi.errors import Sentence
from oshaberi.providers.presets import PRESETS
from oshaberi.public_fetching import Resolve, is_public, resolve_host

# Finds the models of a channel in order, each with its keys.


MOST_NAMED = 10
WHOLE_SERVER = 0
T = TypeVar("T")


async def chain_of(
    services: TurnServices, path: ChannelPath, user_id: int
) -> tuple[ModelCandidate, ...]:
    """Return the models of a channel, else of the nearest place above it, else the operator's.

    In direct messages they are those of the user.
    """
    store, scope = services.store, key_scope(path.server_id, user_id)
    chains: StoredChains = {} if store is None else await _stored(services, store, scope)
    chain = nearest_chain(chains, path)
    if not chain:
        return tuple(one for link in services.models for one in _of_link(link))
    found: list[ModelCandidate] = []
    for record, own in chain:
        found += [ModelCandidate(record, key) for key in own] or _without_own_key(record, services)
    return tuple(found)


def nearest_chain(chains: Mapping[int, tuple[T, ...]], path: ChannelPath) -> tuple[T, ...]:
    """Return the chain of the nearest place that has one; empty if none has."""
    return next((chains[one] for one in (*path.ids, WHOLE_SERVER) if chains.get(one)), ())


async def _stored(services: TurnServices, store: TurnStore, scope: KeyScope) -> StoredChains:
    """Return the stored chains; the last known ones while the database is down."""

    async def load() -> StoredChains:
        chains = await store.models.chains(scope.server_id, scope.user_id)
        providers = dict.fromkeys(one.provider for chain in chains.values() for one in chain)
        keys = {
            provider: await store.keys.of(scope.server_id, provider, scope.user_id)
            for provider in providers
        }
        return {
            channel_id: tuple((record, keys[record.provider]) for record in chain)
            for channel_id, chain in chains.items()
        }

    return await services.chains.get(store.changes, scope, scope.name, load)


def _without_own_key(record: ModelRecord, services: TurnServices) -> list[ModelCandidate]:
    """Return candidates with the operator's keys, for the operator's models only."""
    same = [link for link in services.models if is_same_model(record, link)]
    return [one for link in same for one in _of_link(link)] or [ModelCandidate(record, None, True)]


def _of_link(link: OperatorModel) -> list[ModelCandidate]:
    keys = [KeyRecord(0, link.model.provider, secret) for secret in link.keys]
    return [ModelCandidate(link.model, key, True) for key in keys] or [
        ModelCandidate(link.model, None, True)
    ]


def key_needed(record: ModelRecord, links: Sequence[OperatorModel]) -> str:
    """Explain that a model needs a key, and which models can be used without one."""
    if record.server_id:
        words = Sentence(
            "{model} needs an API key of this server: add it with /model key add.",
            model=_name(record),
        )
    else:
        words = Sentence(
            "{model} needs an API key of your own: add it with /model key add.",
            model=_name(record),
        )
    names = list(dict.fromkeys(_name(link.model) for link in links))
    if not names:
        return words
    listed = ", ".join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        more = len(names) - MOST_NAMED
        listed = Sentence("{names} and {more} more", names=listed, more=more)
    return Sentence("{words} Without one you can use: {names}.", words=words, names=listed)


def _name(model: ModelRecord) -> str:
    return f"{model.provider}/{model.model}"


# Decides whether an address is on the operator's own machine or network.
#
# The admins of a server choose models by commands; they must not make the bot call addresses that
# only its operator can reach.


_PORTS = {"http": 80, "https": 443}


async def is_local(provider: str, base_url: str | None, resolve: Resolve = resolve_host) -> bool:
    """Return whether a provider is local: by its preset, or by a host address that is not public.

    A host that does not resolve cannot be reached. A plugged-in family counts as local: it may run
    on this machine, or find a key of the operator by itself.
    """
    preset = PRESETS.get(provider)
    if preset is None:
        return True
    if base_url is None:
        return preset.is_local
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return True  # its host is unknown
    if not host:
        return True
    try:
        addresses = await resolve(host, port)
    except (OSError, UnicodeError):
        return False
    return not all(is_public(address) for address in addresses)


# Refuses local models and plug-ins that the settings file does not list, unless allowed.
#
# It checks when a model is chosen and each time it is used: by then the host name may have
# another address.


LOCAL_MODEL = Sentence(
    "This model is on the machine or in the network of the bot, or a plug-in of it. Only whoever "
    "runs the bot can choose it: in its settings file, or by setting allow_local_models there."
)


async def may_ask_model(services: TurnServices, model: ModelRecord) -> bool:
    """Return whether the model may be asked. A model in the operator's settings always may."""
    if services.allow_local_models() or is_listed(services, model):
        return True
    return not await is_local(model.provider, model.base_url)


def is_listed(services: TurnServices, model: ModelRecord) -> bool:
    place = (model.provider, model.model, model.base_url)
    listed = (link.model for link in services.models)
    return any((one.provider, one.model, one.base_url) == place for one in listed)
