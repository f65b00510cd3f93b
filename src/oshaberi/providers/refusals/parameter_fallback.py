"""Chooses what to leave out of a request that was refused for its parameters (spec 02).

It removes the fields that the error names. If the error names none, it removes all optional fields,
then all that are not mandatory. `request_negotiation` decides whether to try again, at most four
times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oshaberi.providers.refusals.named_parameters import named_parameters

Body = Mapping[str, Any]

USEFUL = frozenset({"tools", "tool_choice"})
"""Fields that the answer needs, although a request without them is valid."""
RETRIES = 4


def fewer_parameters(
    body: Body, mandatory: frozenset[str], complaint: str, detail: Any = None
) -> Body | None:
    """Return the body to try after this refusal, or None if nothing is left to remove.

    `mandatory` fields always stay. `detail` is the error object, if there is one.
    """
    for kept in _choices(frozenset(body), mandatory, complaint, detail):
        fewer = {key: value for key, value in body.items() if key in kept}
        if len(fewer) < len(body):
            return fewer
    return None


def _choices(
    keys: frozenset[str], mandatory: frozenset[str], complaint: str, detail: Any
) -> tuple[frozenset[str], ...]:
    """Return the sets of keys that may stay, in the order in which they are tried."""
    named = frozenset(named_parameters(complaint, detail, keys - mandatory))
    return (keys - named, keys & (mandatory | USEFUL), keys & mandatory)
