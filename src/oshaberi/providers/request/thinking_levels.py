"""Converts between thinking levels and token budgets.

The fields that carry them are in the `*_thinking_fields` of each family.
"""

from __future__ import annotations

from typing import Literal

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.model_request import Request, Thinking

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
    """Tell whether the model will think with this setting."""
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
