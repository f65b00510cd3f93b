"""Key cooldowns: which API keys pause after a failure, and for how long (spec 08, generation).

Only failures that are the key's fault count. `model_access` starts and ends the cooldowns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from oshaberi.bot.storage.records import KeyRecord
from oshaberi.checked_json import bounded_seconds
from oshaberi.chunks import ErrorType, ProviderError

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
    return min(retry_after_seconds(error) or SECONDS[error.type], LONGEST_SECONDS)


def retry_after_seconds(error: ProviderError) -> float | None:
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
        """End a cooldown because the key has answered. Return when it ended, for the database."""
        known = self._known(key, wall, now_s)
        # A copy of the record that was read earlier still has the old end, which must not count
        # again.
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
