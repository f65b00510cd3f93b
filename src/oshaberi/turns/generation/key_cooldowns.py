"""Which API keys rest after a failure, and for how long (spec 08, generation)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.storage.stored_records import KeyRecord

SECONDS: Mapping[ErrorType, float] = {
    "rate_limit": 30,
    "affordability": 600,
    "balance_exhausted": 3600,
    "auth": 3600,
}
"""For a failure that is the key's own; the provider's word for it counts more."""
LONGEST_SECONDS = 86_400.0
MOST_KEYS = 2000


def is_keys_fault(error: ProviderError) -> bool:
    return error.type in SECONDS


def rest_seconds(error: ProviderError) -> float:
    """As long as the provider says, else as long as such failures usually last."""
    return min(said_seconds(error) or SECONDS[error.type], LONGEST_SECONDS)


def said_seconds(error: ProviderError) -> float | None:
    """When the provider wants to be asked again, if it says so."""
    raw = error.raw if isinstance(error.raw, Mapping) else {}
    said = raw.get("retry_after_s", raw.get("retry_after"))
    return float(said) if isinstance(said, int | float) and said > 0 else None


class KeyCooldowns:
    """Of this process. The database has those of stored keys too, for the others."""

    def __init__(self) -> None:
        self._until: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    def until(self, key: KeyRecord | None, now: datetime) -> datetime | None:
        """When it may be tried again; None: now."""
        if key is None:
            return None
        known = self._until.get((key.provider, key.secret))
        ends = [end for end in (known, _aware(key.rest_until, now)) if end is not None]
        latest = max(ends, default=None)
        return latest if latest is not None and latest > now else None

    def note(self, key: KeyRecord, until: datetime) -> None:
        self._until[key.provider, key.secret] = until
        self._until.move_to_end((key.provider, key.secret))
        if len(self._until) > MOST_KEYS:
            self._until.popitem(last=False)


def _aware(at: datetime | None, like: datetime) -> datetime | None:
    return at.replace(tzinfo=like.tzinfo) if at is not None and at.tzinfo is None else at
