"""Computes how long to wait for an overloaded model when there is no other. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.chunks import ProviderError
from oshaberi.turns.services.key_cooldowns import said_seconds

LONGEST_SECONDS = 30.0
"""How long overloaded models are tried in total. After that the reader gets a notice."""
PAUSES_SECONDS = (2.0, 8.0)
"""The pauses between the tries, if the provider does not say how long to wait."""

_OVERLOADED = frozenset(("rate_limit", "provider_overloaded"))


def is_overload(error: ProviderError) -> bool:
    """Tell whether an error is an overload, which may soon end."""
    return error.type in _OVERLOADED


class OverloadWait:
    """The waits for one answer."""

    def __init__(self) -> None:
        self._left_s = LONGEST_SECONDS
        self._pauses_s = iter(PAUSES_SECONDS)

    def next(self, errors: Iterable[ProviderError]) -> float | None:
        """Return how many seconds to wait after these errors, or None to give up."""
        usual = next(self._pauses_s, None)
        if usual is None:
            return None
        pauses = [said_seconds(error) or usual for error in errors if is_overload(error)]
        shortest = min(pauses, default=None)
        if shortest is None or shortest > self._left_s:
            return None
        self._left_s -= shortest
        return shortest
