"""One request to a model, independent of its API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from oshaberi.errors import Sentence
from oshaberi.providers.request.context_items import Item, ToolDeclaration
from oshaberi.text.text_config import not_allowed

ThinkingLevel = Literal["off", "low", "medium", "high"]
Thinking = ThinkingLevel | int | None
"""A level, a budget in tokens, or None: the model's default."""

MOST_THINKING = 100_000_000
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "low", "medium", "high")
THINKING_ALLOWED = Sentence(
    "one of {levels}, or a number of tokens", levels=", ".join(THINKING_LEVELS)
)


@dataclass(slots=True)
class RequestSize:
    """The estimated tokens of a request as it was sent; 0 if there is no useful estimate."""

    estimated_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one answer depends on, apart from the model itself.

    `speakers` are the names of all others in the conversation; with `speaker_guard` the answer ends
    where the model starts to speak for one of them. `extra` goes to the API unchanged.
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
    size: RequestSize | None = field(default=None, repr=False, compare=False)
    """Filled in when the request is prepared, if it is set."""

    def __post_init__(self) -> None:
        if not is_thinking(self.thinking):
            raise not_allowed("thinking", self.thinking, THINKING_ALLOWED)


def is_thinking(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return 0 <= value <= MOST_THINKING
    return value is None or value in THINKING_LEVELS
