"""The models that may answer, each with a key, and which keys pause after a failure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.checked_json import bounded_seconds
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.providers.capabilities import ModelPlace
from oshaberi.providers.presets import PRESETS

# The models that may answer: a server's own and the operator's, each with a key.


StoredChain = tuple[tuple[ModelRecord, tuple[KeyRecord, ...]], ...]
"""Models in order, each with the keys that its owner has for it."""
StoredChains = Mapping[int, StoredChain]
"""Chains by the channel, thread or category that has them; 0 is the whole server."""


@dataclass(slots=True)
class OperatorModel:
    """A model from the operator's settings, with its keys."""

    model: ModelRecord
    keys: tuple[str, ...] = field(default=(), repr=False)
    price: tuple[float, float] | None = None
    """Dollars for a million tokens: input, output."""


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """One model with one key. The key is None if none is needed, or if there is none."""

    model: ModelRecord
    key: KeyRecord | None = None
    is_operators: bool = False
    """Whether the operator pays for it: with a key, or with the machine on which it runs."""

    @property
    def secret(self) -> str | None:
        return None if self.key is None else self.key.secret

    @property
    def lacks_key(self) -> bool:
        """Return whether the provider needs a key and there is none."""
        preset = PRESETS.get(self.model.provider)
        needed = preset is not None and preset.key_name_at(self.model.base_url) is not None
        return needed and self.key is None


def is_same_model(record: ModelRecord, link: OperatorModel) -> bool:
    """Return whether the record is the operator's model. No base URL means the operator's."""
    same = (record.provider, record.model) == (link.model.provider, link.model.model)
    return same and record.base_url in (None, link.model.base_url)


def place_of_model(record: ModelRecord) -> ModelPlace:
    """Return the place under which lessons about this model are remembered."""
    preset = PRESETS.get(record.provider)
    base_url = record.base_url or (preset.base_url if preset else None)
    return ModelPlace(record.provider, base_url, record.model)


# Decides which API keys pause after a failure, and for how long (spec 08, generation).
#
# `generation.fallback` chooses the next key.


SECONDS: Mapping[ErrorType, float] = {
    "rate_limit": 30,
    "affordability": 600,
    "balance_exhausted": 3600,
    "auth": 3600,
}
"""How long a key is not used after a failure caused by the key, unless the provider says how
long."""
LONGEST_SECONDS = 86_400.0
MOST_KEYS = 2000


def is_keys_fault(error: ProviderError) -> bool:
    return error.type in SECONDS


def rest_seconds(error: ProviderError) -> float:
    """Return how long a key pauses: as the provider says, else as usual for this error."""
    return min(said_seconds(error) or SECONDS[error.type], LONGEST_SECONDS)


def said_seconds(error: ProviderError) -> float | None:
    """Return the seconds after which the provider allows a retry, or None."""
    raw = error.raw if isinstance(error.raw, Mapping) else {}
    said = raw.get("retry_after_s", raw.get("retry_after"))
    return bounded_seconds(said, LONGEST_SECONDS) or None


@dataclass(frozen=True, slots=True)
class _Rest:
    """One cooldown. `end_s` is by the loop's clock; `stored` is the same end in the database."""

    end_s: float
    stored: datetime


class KeyCooldowns:
    """The key cooldowns of this process. Those of stored keys are in the database too.

    The wall clock may be changed during a cooldown. So the end is read from it once, when the
    cooldown becomes known; from then on the loop's clock counts.
    """

    def __init__(self) -> None:
        self._cooldowns: OrderedDict[tuple[str, str], _Rest] = OrderedDict()

    def seconds_left(self, key: KeyRecord | None, wall: datetime, now_s: float) -> float:
        """Return the seconds until the key may be tried again; 0 means now."""
        rest = None if key is None else self._known(key, wall, now_s)
        return 0.0 if rest is None else max(0.0, rest.end_s - now_s)

    def note(self, key: KeyRecord, seconds: float, wall: datetime, now_s: float) -> datetime:
        """Start a cooldown. Return its end, for the database."""
        until = wall + timedelta(seconds=seconds)
        self._put(key, _Rest(now_s + seconds, until))
        return until

    def end(self, key: KeyRecord, wall: datetime, now_s: float) -> datetime:
        """End a cooldown, because the key has answered. Return its end, for the database."""
        known = self._known(key, wall, now_s)
        # A copy of the record that was read before says the old end; it does not count again.
        self._put(key, _Rest(now_s, wall if known is None else max(wall, known.stored)))
        return wall

    def _known(self, key: KeyRecord, wall: datetime, now_s: float) -> _Rest | None:
        known = self._cooldowns.get((key.provider, key.secret))
        stored = _aware(key.rest_until, wall)
        if stored is None or (known is not None and stored <= known.stored):
            return known
        left = min((stored - wall).total_seconds(), LONGEST_SECONDS)
        end_s = now_s + left if known is None else max(now_s + left, known.end_s)
        return self._put(key, _Rest(end_s, stored))

    def _put(self, key: KeyRecord, rest: _Rest) -> _Rest:
        self._cooldowns[key.provider, key.secret] = rest
        self._cooldowns.move_to_end((key.provider, key.secret))
        if len(self._cooldowns) > MOST_KEYS:
            self._cooldowns.popitem(last=False)
        return rest


def _aware(at: datetime | None, like: datetime) -> datetime | None:
    return at.replace(tzinfo=like.tzinfo) if at is not None and at.tzinfo is None else at
