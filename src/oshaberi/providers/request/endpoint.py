"""Where a model is, with its key. Its `repr` never shows a secret."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oshaberi.providers.capabilities.learned_limits import LearnedLimits, ModelPlace
from oshaberi.providers.request.answer_budgets import DEFAULT_BUDGETS, AnswerBudgets
from oshaberi.providers.request.context_items import ImagePart, TextPart

FetchImage = Callable[[str], Awaitable[ImagePart | TextPart]]
"""Fetches an image within limits; returns a note if that is not possible."""

AskWindow = Callable[[], Awaitable[int | None]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model of one provider. `name` is the provider's name in errors and logs.

    `window` is the window in tokens if the settings have one, `usual_window` that of the provider's
    models; `text` overrides text settings for this model (spec 01).
    """

    name: str
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    window: int | None = None
    usual_window: int | None = None
    ask_window: AskWindow | None = field(default=None, repr=False, compare=False)
    """Asks a local server for its window."""
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
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `ModelCapabilities` that the settings override."""
    budgets: AnswerBudgets = DEFAULT_BUDGETS
    learned: LearnedLimits = field(default_factory=LearnedLimits, repr=False, compare=False)
    """What the endpoint refused before; shared by all adapters of a process."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that no error may show."""
        return (*filter(None, [self.api_key]), *self.headers.values())


def place_of(endpoint: Endpoint) -> ModelPlace:
    """Return the place for lessons about this endpoint's model."""
    return ModelPlace(endpoint.name, endpoint.base_url, endpoint.model)
