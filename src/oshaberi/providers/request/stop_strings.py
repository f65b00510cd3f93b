"""Collects the stop strings: the configured ones, other speakers' labels, the family's own."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.endpoint import Endpoint
from oshaberi.providers.request.model_request import Request

RESERVED = ("Assistant", "User", "Human", "System")
"""Speakers for whom the model must never speak."""


def most_stop_strings(endpoint: Endpoint, capabilities: ModelCapabilities) -> int | None:
    """Return how many stop strings the model takes, or else its provider."""
    known = capabilities.stop_strings
    return endpoint.max_stop_strings if known is None else known


def stop_strings(
    request: Request, own: Iterable[str] = (), most: int | None = None
) -> tuple[str, ...]:
    """Return all stop strings in that order, without duplicates, up to the API's limit."""
    wanted = [*request.stop_strings, *_labels(request), *own]
    # Several APIs refuse a stop string that is only whitespace.
    unique = tuple(dict.fromkeys(text for text in wanted if text.strip()))
    return unique if most is None else unique[:most]


def _labels(request: Request) -> list[str]:
    """Return other speakers' labels, known names first: the API may allow only a few."""
    if not request.speaker_guard:
        return []
    return [f"\n{name}:" for name in (*request.speakers, *RESERVED) if name.strip()]
