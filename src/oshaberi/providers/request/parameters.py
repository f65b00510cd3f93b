"""The parameters of a request: capabilities, sampling, stop strings, thinking, call ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Any, Literal

from oshaberi.chunks import ToolCall
from oshaberi.providers.capabilities.known_models import capabilities_of
from oshaberi.providers.capabilities.model_capabilities import CallIdShape, ModelCapabilities
from oshaberi.providers.request.model_request import (
    Endpoint,
    Request,
    Thinking,
    ToolRound,
)

# Finds what a model can do: the table, overridden by the settings, then by learned lessons.


def known_capabilities(endpoint: Endpoint, family: str) -> ModelCapabilities:
    """Return the capabilities of an endpoint's model; each source overrides those before it."""
    gateway = bool(endpoint.quirks.get("gateway"))
    known = capabilities_of(family, endpoint.model, is_gateway=gateway)
    return endpoint.learned.applied(endpoint.place, replace(known, **endpoint.capabilities))


# Collects the stop strings: the configured ones, other speakers' labels, the family's own.


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


# Converts between thinking levels and token budgets.
#
# The fields that carry them are in the `*_thinking_fields` of each family.


Effort = Literal["low", "medium", "high"]

BUDGETS: dict[Effort, int] = {"low": 2_048, "medium": 8_192, "high": 24_576}
_WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def effort(thinking: Thinking) -> Effort | None:
    """Return the level for a level or a budget; None if thinking is off or the model decides."""
    if isinstance(thinking, int):
        if thinking == 0:
            return None
        return next((level for level in BUDGETS if thinking <= BUDGETS[level]), "high")
    return None if thinking is None or thinking == "off" else thinking


def budget(thinking: Thinking) -> int | None:
    """Return the budget in tokens; 0 means off, None means that the model decides."""
    if isinstance(thinking, int) or thinking is None:
        return thinking
    return 0 if thinking == "off" else BUDGETS[thinking]


def is_off(thinking: Thinking) -> bool:
    return thinking == "off" or (thinking == 0 and thinking is not False)


def nearest_level(thinking: Thinking, levels: tuple[str, ...]) -> str | None:
    """Return the model's nearest word; the lowest for `off`; of two equally near, the higher."""
    if thinking is None or not levels:
        return None
    if is_off(thinking):
        return levels[0]
    wanted = _WORDS.index(effort(thinking) or "low")
    thinking_ones = [word for word in levels if word != "none"] or list(levels)
    return min(thinking_ones, key=lambda word: (abs(_place(word) - wanted), -_place(word)))


def _place(word: str) -> int:
    return _WORDS.index(word) if word in _WORDS else len(_WORDS)


def thinks(thinking: Thinking, capabilities: ModelCapabilities) -> bool:
    """Return whether the model will think with this setting."""
    if is_off(thinking):
        return not capabilities.can_be_off and capabilities.thinks_unasked
    return capabilities.thinks_unasked if thinking is None else capabilities.thinking != "none"


def output_tokens(request: Request, capabilities: ModelCapabilities) -> int | None:
    """Return the limit of the whole output: the answer, with room for the thoughts before it."""
    if request.max_output_tokens is None:
        return None
    whole = request.max_output_tokens + _room(request.thinking, capabilities)
    most = capabilities.output_limit
    return whole if most is None else min(whole, most)


def _room(thinking: Thinking, capabilities: ModelCapabilities) -> int:
    if not thinks(thinking, capabilities):
        return 0
    if thinking is None:
        return BUDGETS["medium"]
    if is_off(thinking):
        return BUDGETS["low"]
    return max(budget(thinking) or 0, capabilities.smallest_budget)


# Chooses temperature and top_p, if the model takes them.


def sampling(request: Request, capabilities: ModelCapabilities) -> dict[str, Any]:
    """Return the parameters that may be sent. Several thinking models refuse both."""
    both = {"temperature": request.temperature, "top_p": request.top_p}
    given = {key: value for key, value in both.items() if value is not None}
    match capabilities.sampling:
        case "allowed":
            return given
        case "never":
            return {}
        case _ if thinks(request.thinking, capabilities):
            return {}
        case "one":
            return dict(list(given.items())[:1])
        case _:
            return given


# Makes tool call ids that the API accepts: unique and in its format. A valid id stays, and the
# model that made an id gets it back whatever it is: LiteLLM hides a signature in it.
#
# The same call and its result always get the same id, so nothing has to be remembered.


_SHAPES: dict[CallIdShape, re.Pattern[str]] = {
    "any": re.compile(r".{1,40}", re.DOTALL),
    "words": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "nine": re.compile(r"[A-Za-z0-9]{9}"),
}


_ANY_ID = re.compile(r".+", re.DOTALL)


class CallIds:
    """The ids in the history of one request, in order."""

    def __init__(self, endpoint: Endpoint, capabilities: ModelCapabilities) -> None:
        self._endpoint = endpoint
        self._shape = _SHAPES[capabilities.call_ids]
        self._keeps_own = capabilities.keeps_own_ids
        self._given: set[str] = set()

    def of(self, turn: ToolRound) -> list[str]:
        """Return one id per call of a round."""
        is_own = self._keeps_own and turn.is_of(self._endpoint.name, self._endpoint.model)
        shape = _ANY_ID if is_own else self._shape
        return [self._next(call, shape) for call in turn.calls]

    def _next(self, call: ToolCall, shape: re.Pattern[str]) -> str:
        made = call.id or ""
        while made in self._given or not shape.fullmatch(made):
            made = sha256(f"{made} {len(self._given)}".encode()).hexdigest()[:9]
        self._given.add(made)
        return made
