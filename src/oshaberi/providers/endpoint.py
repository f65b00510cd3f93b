"""Where a model is, with its key. Its `repr` never shows a secret."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oshaberi.providers.request.context_items import ImagePart, TextPart

FetchImage = Callable[[str], Awaitable[ImagePart | TextPart]]
"""Fetches an image within limits; what cannot be had becomes a note."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model of one provider. `name` is what errors and logs call the provider.

    `window` is the context in tokens; `text` overrides text settings for this model (spec 01).
    """

    name: str
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    window: int | None = None
    max_output_tokens: int | None = None
    max_stop_strings: int | None = None
    connect_seconds: float = 10.0
    silence_seconds: float = 300.0
    reemits: bool = False
    quirks: Mapping[str, Any] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)
    fetch_image: FetchImage | None = None
    count_tokens: Callable[[str], int] | None = None
    is_known_server: bool = False
    """Whether it is a provider's own public server, whose error messages may be shown."""
