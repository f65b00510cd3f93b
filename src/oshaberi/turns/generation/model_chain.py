"""Whom a server asks: its models in order, each with its keys, and which of them is next."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import KeyRecord, ModelRecord
from oshaberi.turns.generation.key_cooldowns import KeyCooldowns
from oshaberi.turns.turn_services import OperatorModel, TurnServices
from oshaberi.turns.turn_store import TurnStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """One model under one key. None: it needs no key, or there is none."""

    model: ModelRecord
    key: KeyRecord | None = None

    @property
    def secret(self) -> str | None:
        return None if self.key is None else self.key.secret


async def chain_of(services: TurnServices, server_id: int) -> tuple[ModelCandidate, ...]:
    """The server's own models, else those of the operator's settings."""
    store = services.store
    records = () if store is None else await _stored(services, store, server_id)
    if store is None or not records:
        return tuple(one for link in services.models for one in _of_link(link))
    found: list[ModelCandidate] = []
    for record in records:
        found += await _of_record(record, server_id, store, services.models)
    return tuple(found)


async def _stored(
    services: TurnServices, store: TurnStore, server_id: int
) -> Sequence[ModelRecord]:
    """While the database is away, a server that had none of its own has none."""
    try:
        records = await store.models.chain(server_id)
    except StorageError as error:
        if not services.guests.get(server_id):
            raise
        log.error("server %s asks the operator's models, as before: %s", server_id, error)
        return ()
    services.guests.put(server_id, not records)
    return records


def _of_link(link: OperatorModel) -> list[ModelCandidate]:
    keys = [KeyRecord(0, link.model.provider, secret) for secret in link.keys]
    return [ModelCandidate(link.model, key) for key in keys] or [ModelCandidate(link.model)]


async def _of_record(
    record: ModelRecord, server_id: int, store: TurnStore, links: Sequence[OperatorModel]
) -> list[ModelCandidate]:
    stored = await store.keys.of(server_id, record.provider)
    keys = [key for key in stored if _may_see(record, key)]
    if not keys:
        place = (record.provider, record.base_url)
        same = [link for link in links if (link.model.provider, link.model.base_url) == place]
        secrets = dict.fromkeys(secret for link in same for secret in link.keys)
        keys = [KeyRecord(0, record.provider, secret) for secret in secrets]
    return [ModelCandidate(record, key) for key in keys] or [ModelCandidate(record)]


def _may_see(record: ModelRecord, key: KeyRecord) -> bool:
    """The operator's key never goes to an address that a server's admins typed in."""
    own = key.server_id == record.server_id
    return own or record.server_id == 0 or record.base_url is None


class ModelTries:
    """Which candidates are left for one answer; what rests is left out while anything else is."""

    def __init__(self, candidates: Sequence[ModelCandidate], cooldowns: KeyCooldowns) -> None:
        self._left = list(candidates)
        self._cooldowns = cooldowns
        self._tried = False

    def next(self, wall: datetime, now_s: float) -> ModelCandidate | None:
        left = [(self._cooldowns.seconds_left(one.key, wall, now_s), one) for one in self._left]
        awake = [one for seconds, one in left if not seconds]
        chosen = awake[0] if awake else None
        if chosen is None and self._left and not self._tried:
            # Everything rests: the one that rests shortest may be awake by now.
            chosen = min(left, key=itemgetter(0))[1]
        self._tried = True
        if chosen is not None:
            self._left.remove(chosen)
        return chosen

    def skip(self, model: ModelRecord) -> None:
        """Its other keys would fail the same way."""
        self._left = [one for one in self._left if one.model != model]
