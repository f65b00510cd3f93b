"""Finds the models of a channel in order, each with its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from oshaberi.conversation.channel_path import ChannelPath
from oshaberi.errors import Sentence
from oshaberi.storage.key_scope import KeyScope, key_scope
from oshaberi.storage.stored_records import KeyRecord, ModelRecord
from oshaberi.turns.services.model_candidates import (
    ModelCandidate,
    OperatorModel,
    StoredChains,
    is_same_model,
)
from oshaberi.turns.services.turn_services import TurnServices
from oshaberi.turns.turn_store import TurnStore

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
