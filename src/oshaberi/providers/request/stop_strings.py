"""Collects the stop strings: the configured ones, other speakers' labels, the family's own."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.speaker_holdback import RESERVED


def stop_strings(
    request: Request, own: Iterable[str] = (), most: int | None = None
) -> tuple[str, ...]:
    """In that order, each once, cut to what the API allows."""
    wanted = [*request.stop_strings, *_labels(request), *own]
    # Several APIs refuse a stop string that is only whitespace.
    unique = tuple(dict.fromkeys(text for text in wanted if text.strip()))
    return unique if most is None else unique[:most]


def _labels(request: Request) -> list[str]:
    """Known names before the reserved ones: they are likelier, and the API may allow few."""
    if not request.speaker_guard:
        return []
    return [f"\n{name}:" for name in (*request.speakers, *RESERVED) if name.strip()]
