"""Finds what a model can do, by family and name, in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from oshaberi.providers.capabilities import anthropic_models, google_models, openai_models
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.capabilities.openai_models import Row

TABLE: Mapping[str, tuple[Row, ...]] = {
    "openai": openai_models.SHARED,
    "openai-responses": (*openai_models.RESPONSES, *openai_models.SHARED),
    "anthropic": anthropic_models.ROWS,
    "google": google_models.ROWS,
}
"""Family → rows of a pattern and what differs from the safe defaults; the first match counts."""

MOST_REMEMBERED = 1000
"""Models whose capabilities were asked for last: an admin may choose any name."""
_OF_THE_MODEL = frozenset({"images", "window", "thinks_unasked"})
"""Fields that no gateway can change."""


@lru_cache(maxsize=MOST_REMEMBERED)
def capabilities_of(family: str, model: str, *, is_gateway: bool = False) -> ModelCapabilities:
    """Return the capabilities of a model by its name; an unknown model gets the safe defaults.

    A vendor before a slash is ignored. A gateway translates requests, so behind one only the limits
    of the model itself count, not those of its maker's API.
    """
    name = model.lower().rpartition("/")[2]
    for pattern, changes in TABLE.get(family, ()):
        if re.match(pattern, name):
            kept = changes.keys() & _OF_THE_MODEL if is_gateway else changes.keys()
            return ModelCapabilities(**{key: changes[key] for key in kept})
    return ModelCapabilities()
