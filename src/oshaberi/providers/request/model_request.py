"""One request to a model, independent of its API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from oshaberi.errors import ConfigError
from oshaberi.providers.request.context_items import Item, ToolDeclaration

ThinkingLevel = Literal["off", "low", "medium", "high"]
Thinking = ThinkingLevel | int | None
"""A level, a budget in tokens, or None: whatever the model does by itself."""

_LEVELS = ("off", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Request:
    """Everything one answer depends on, apart from the model itself.

    `speakers` are the names of everybody else in the conversation; with `speaker_guard` on, the
    model is stopped where it speaks for them. `extra` goes to the API as it is.
    """

    items: tuple[Item, ...]
    tools: tuple[ToolDeclaration, ...] = ()
    stop_strings: tuple[str, ...] = ()
    speaker_guard: bool = False
    speakers: tuple[str, ...] = ()
    holdback_chars: int = 32
    thinking: Thinking = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    prefill: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_thinking(self.thinking):
            allowed = f"{', '.join(_LEVELS)} or a number of tokens"
            raise ConfigError(f"thinking: {self.thinking!r} is not one of: {allowed}")


def is_thinking(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return value is None or value in _LEVELS or (isinstance(value, int) and value >= 0)
