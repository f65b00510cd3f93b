"""Which models may answer and who owns them, which are failing, and which are local.

A server, a channel or a person has a chain of models: the first one answers, the others if it
fails. Those without a chain of their own use the operator's. `generation.fallback` goes through a
chain; `key_cooldowns` decides which keys pause.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import KeyRecord, ModelRecord, PersonaRecord
from oshaberi.bot.storage.repositories.models import KeyScope, key_scope
from oshaberi.bot.turns.caches import StoredCache
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.key_cooldowns import KeyCooldowns, is_keys_fault, rest_seconds
from oshaberi.checked_json import parse_json
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.clocks import loop_time_s, utc_now
from oshaberi.errors import Sentence
from oshaberi.outage_log import OutageLog
from oshaberi.providers.capabilities import LearnedLimits, ModelPlace
from oshaberi.providers.model_addresses import without_route
from oshaberi.providers.model_options import TokenPrice
from oshaberi.providers.presets import PRESETS
from oshaberi.public_fetching import Resolve, is_public, resolve_host
from oshaberi.secret_redaction import redact

log = logging.getLogger(__name__)

MOST_SERVERS = 1000
NOBODY_YET = PersonaRecord(0, "Oshaberi", is_default=True)

WHOLE_SERVER = 0
FROM_FILES = frozenset({"replay"})
"""Providers that read files of the machine that the bot runs on: only its operator chooses them."""
T = TypeVar("T")


@dataclass(slots=True)
class OperatorModel:
    """A model from the operator's settings, with its keys."""

    model: ModelRecord
    keys: tuple[str, ...] = field(default=(), repr=False)
    price: TokenPrice | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Settings of its endpoint that only the operator may choose, such as `headers`."""


@dataclass(slots=True)
class OperatorChoices:
    """What the operator's settings say about models and answers, replaced when they change."""

    models: tuple[OperatorModel, ...] = ()
    """The models of servers that have no chain of their own."""
    persona: PersonaRecord = NOBODY_YET
    """The default persona of servers that have none."""
    turn: TurnConfig = field(default_factory=TurnConfig)
    """The operator's quotas apply besides a server's."""
    allow_local_models: bool = False
    """Whether models that were chosen by command may be inside the operator's network."""
    context_since: datetime | None = None
    """What was said before this time is not shown to the model: another model answered it."""


@dataclass(frozen=True, slots=True)
class StoredModels:
    """The models and keys of one server, or of one person for their direct messages."""

    chains: Mapping[int, tuple[ModelRecord, ...]]
    """By the channel, thread or category that has them; 0 is the whole server."""
    keys: Mapping[str, tuple[KeyRecord, ...]] = field(repr=False)
    """By provider."""

    def named(self, name: str, scope: KeyScope) -> ModelRecord | None:
        """Return a model by `provider/model`: as a chain has it, else with no options."""
        provider, _slash, model = name.partition("/")
        for chain in self.chains.values():
            for record in chain:
                if (record.provider, record.model) == (provider, model):
                    return record
        if provider not in PRESETS or provider in FROM_FILES:
            return None
        return ModelRecord(scope.server_id, provider, model, user_id=scope.user_id)


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """One model with one key. The key is None if none is needed, or if there is none."""

    model: ModelRecord
    key: KeyRecord | None = None
    is_operators: bool = False
    """Whether the operator pays for it: with a key, or with the machine on which it runs."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What only the operator may set, for a model that the operator pays for."""

    @property
    def secret(self) -> str | None:
        return None if self.key is None else self.key.secret

    @property
    def lacks_key(self) -> bool:
        """Return whether the provider needs a key and there is none."""
        preset = PRESETS.get(self.model.provider)
        needed = preset is not None and preset.key_name_at(self.model.base_url) is not None
        return needed and self.key is None


class ModelAccess:
    """The models of a process, with their adapters, and what is known of keys and failures."""

    def __init__(
        self,
        operator: OperatorChoices,
        adapters: AdapterPool,
        db: Database,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.operator = operator
        self.adapters = adapters
        self.cooldowns = KeyCooldowns()
        self.outages = ModelOutages()
        self._db = db
        self._clock = clock
        self._chains: StoredCache[KeyScope, StoredModels] = StoredCache(
            MOST_SERVERS, "models", "keys"
        )

    async def chain(
        self, path: ChannelPath, user_id: int, first: Sequence[str] = ()
    ) -> tuple[ModelCandidate, ...]:
        """Return the models of a channel, else of the nearest place above it, else the operator's.

        In direct messages they are those of the user. While the database is down, they are the last
        known ones. `first` names models of a persona, which are tried before the others.
        """
        scope = key_scope(path.server_id, user_id)
        stored = await self._chains.get(
            self._db.changes, scope, scope.name, lambda: self._stored_models(scope)
        )
        operators = self.operator.models

        def candidates(record: ModelRecord) -> list[ModelCandidate]:
            own = stored.keys.get(record.provider, ())
            return [ModelCandidate(record, key) for key in own] or _unowned(record, operators)

        named = [record for name in first if (record := stored.named(name, scope)) is not None]
        found = [one for record in named for one in candidates(record)]
        chain = nearest_chain(stored.chains, path)
        rest = [one for record in chain for one in candidates(record)]
        if not chain:
            rest = [one for link in operators for one in _of_link(link)]
        known = {_identity(one) for one in found}
        return (*found, *(one for one in rest if _identity(one) not in known))

    async def may_ask(self, model: ModelRecord) -> bool:
        """Return whether the model may be asked: a local one only if the operator allows it.

        It is checked when a model is chosen and each time it is used: by then the host name may
        have another address.
        """
        if self._is_listed(model):
            return True
        if is_of_cloud(model.provider):
            # It would be paid for, and perhaps sent anywhere, with the operator's own account.
            return False
        if self.operator.allow_local_models:
            return True
        return not await is_local(model.provider, model.base_url)

    def rest_seconds_left(self, key: KeyRecord | None) -> float:
        """Return the seconds until a key may be tried again; 0 means now."""
        if key is None:
            return 0.0
        return self.cooldowns.seconds_left(key, self._clock(), loop_time_s())

    def cooldown_end(self, key: KeyRecord) -> datetime | None:
        """Return when the cooldown of a key ends, or None if it can be used now."""
        left_s = self.rest_seconds_left(key)
        return self._clock() + timedelta(seconds=left_s) if left_s else None

    async def note_failure(self, candidate: ModelCandidate, error: ProviderError) -> None:
        """Log a failure. If it is the key's fault, the key pauses."""
        self.outages.failed(candidate, error)
        key = candidate.key
        if key is not None and is_keys_fault(error):
            seconds = rest_seconds(error)
            await self._store_rest(
                key, self.cooldowns.note(key, seconds, self._clock(), loop_time_s())
            )

    async def note_answer(self, candidate: ModelCandidate, *, has_rested: bool) -> None:
        """Note that a model has answered. If its key was in cooldown, the cooldown ends."""
        self.outages.answered(candidate.model)
        key = candidate.key
        if has_rested and key is not None:
            await self._store_rest(key, self.cooldowns.end(key, self._clock(), loop_time_s()))

    async def _store_rest(self, key: KeyRecord, until: datetime) -> None:
        if key.id:
            try:
                await self._db.keys.rest(key.id, until)
            except Exception:
                # This process knows it anyway.
                log.exception("a key's rest could not be stored")

    async def _stored_models(self, scope: KeyScope) -> StoredModels:
        chains = await self._db.models.chains(scope.server_id, scope.user_id)
        return StoredModels(chains, await self._db.keys.by_provider(scope.server_id, scope.user_id))

    def _is_listed(self, model: ModelRecord) -> bool:
        place = (model.provider, model.model, model.base_url)
        listed = (link.model for link in self.operator.models)
        return any((one.provider, one.model, one.base_url) == place for one in listed)


def nearest_chain(chains: Mapping[int, tuple[T, ...]], path: ChannelPath) -> tuple[T, ...]:
    """Return the chain of the nearest place that has one; empty if none has."""
    return next((chains[one] for one in (*path.ids, WHOLE_SERVER) if chains.get(one)), ())


def is_same_model(record: ModelRecord, link: OperatorModel) -> bool:
    """Return whether the record is the operator's model. No base URL means the operator's."""
    same = (record.provider, record.model) == (link.model.provider, link.model.model)
    return same and record.base_url in (None, link.model.base_url)


def forget_lessons(learned: LearnedLimits, place: str) -> None:
    """Forget what a model refused, because a process says so (`/model relearn`)."""
    try:
        provider, base_url, model = parse_json(place)
    except (ValueError, TypeError):
        return
    learned.forget(ModelPlace(provider, base_url, model))


def place_of_model(record: ModelRecord) -> ModelPlace:
    """Return the place under which lessons about this model are remembered."""
    preset = PRESETS.get(record.provider)
    base_url = without_route(record.base_url) if record.base_url else None
    base_url = base_url or (preset.base_url if preset else None)
    return ModelPlace(record.provider, base_url, record.model)


def _identity(one: ModelCandidate) -> tuple[str, str, str | None, str | None]:
    return one.model.provider, one.model.model, one.model.base_url, one.secret


def _unowned(record: ModelRecord, links: Sequence[OperatorModel]) -> list[ModelCandidate]:
    """Return candidates with the operator's keys, for the operator's models only."""
    same = [link for link in links if is_same_model(record, link)]
    return [one for link in same for one in _of_link(link)] or [ModelCandidate(record, None, True)]


def _of_link(link: OperatorModel) -> list[ModelCandidate]:
    provider = link.model.provider
    keys: list[KeyRecord | None] = [KeyRecord(0, provider, secret) for secret in link.keys]
    return [ModelCandidate(link.model, key, True, link.settings) for key in keys or [None]]


MOST_NAMED = 10


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


# Models that fail: a log line for the first failure, a count every minute, and a line at the end.
# A failure that the question itself causes (blocked, too long) is not an outage, nor is a rate
# limit.

MOST_MODELS = 200
MOST_LOGGED = 500
NO_OUTAGE: frozenset[ErrorType] = frozenset({"content_blocked", "context_length", "rate_limit"})

ModelName = tuple[str, str]


class ModelOutages:
    """The models of a process that fail now, by provider and name."""

    def __init__(self) -> None:
        self._logs: OrderedDict[ModelName, OutageLog] = OrderedDict()

    def failing(self) -> frozenset[ModelName]:
        return frozenset(name for name, one in self._logs.items() if one.is_on)

    def failed(self, candidate: ModelCandidate, error: ProviderError) -> None:
        """Log a failure with the provider's words, or count it if the model is known to fail."""
        name, words = _name_of(candidate.model), _failure_words(candidate, error)
        if error.type in NO_OUTAGE:
            log.info("%s/%s: %s", *name, words)
        else:
            self._log_of(name).begins(words)

    def answered(self, model: ModelRecord) -> None:
        """Note that a model has answered."""
        known = self._logs.get(_name_of(model))
        if known is not None:
            known.over()

    def _log_of(self, name: ModelName) -> OutageLog:
        if name not in self._logs:
            self._logs[name] = OutageLog(
                *("model", "/".join(name), log),
                level=logging.WARNING,
                words=("{what}: {reason}", "{what} still fails", "{what} answers again"),
                counts_only=True,
            )
            if len(self._logs) > MOST_MODELS:
                self._logs.popitem(last=False)[1].close()
        return self._logs[name]


def _name_of(model: ModelRecord) -> ModelName:
    return model.provider, model.model


def _failure_words(candidate: ModelCandidate, error: ProviderError) -> str:
    key = candidate.key
    words = " ".join(redact(error.message).split())[:MOST_LOGGED] or "(no message)"
    return f"{error.type}: {words}" + (f" (key {key.id})" if key is not None and key.id else "")


# Models on the operator's own machine or network. The admins of a server choose models by
# commands; they must not make the bot call addresses that only its operator can reach.

LOCAL_MODEL = Sentence(
    "This model runs on the bot's machine or network, or is a plug-in. Only whoever "
    "runs the bot can choose it: in its settings file, or by setting allow_local_models there."
)

ACCOUNT_MODEL = Sentence(
    "This model is asked with the account of whoever runs the bot. Only they can choose it, in the "
    "settings file."
)

_PORTS = {"http": 80, "https": 443}


def is_of_cloud(provider: str) -> bool:
    """Return whether requests are signed with the credentials that this machine has for a cloud."""
    preset = PRESETS.get(provider)
    return preset is not None and bool(preset.cloud)


def not_allowed(provider: str) -> Sentence:
    """Return why a model may not be asked (`ModelAccess.may_ask`)."""
    return ACCOUNT_MODEL if is_of_cloud(provider) else LOCAL_MODEL


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
