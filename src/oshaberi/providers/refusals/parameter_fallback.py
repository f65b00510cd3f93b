"""Repeats a request that was refused for its parameters, with fewer of them (spec 02).

Fields that the error names are removed first. If it names none, all optional fields are removed,
then all that are not mandatory. There are at most four retries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oshaberi.providers.refusals.named_parameters import named_parameters

Body = Mapping[str, Any]

USEFUL = frozenset({"tools", "tool_choice"})
"""What the answer needs, though a request can do without it."""
RETRIES = 4


class ParameterFallback:
    """The bodies to try after a first one, each with fewer fields. `mandatory` ones always stay."""

    def __init__(self, body: Body, mandatory: frozenset[str]) -> None:
        self._body = body
        self._mandatory = mandatory
        self._retries = 0

    def down(self, complaint: str, detail: Any = None) -> Body | None:
        """Return the next body after this refusal, or None if nothing is left to remove.

        `detail` is the error object, if there is one.
        """
        if self._retries == RETRIES:
            return None
        self._retries += 1
        for kept in self._choices(complaint, detail):
            fewer = {key: value for key, value in self._body.items() if key in kept}
            if len(fewer) < len(self._body):
                self._body = fewer
                return fewer
        return None

    def _choices(self, complaint: str, detail: Any) -> tuple[frozenset[str], ...]:
        """Return the sets of keys that may stay, in the order of trying."""
        keys = frozenset(self._body)
        named = frozenset(named_parameters(complaint, detail, keys - self._mandatory))
        return (keys - named, keys & (self._mandatory | USEFUL), keys & self._mandatory)
