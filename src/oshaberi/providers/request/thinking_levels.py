"""Converts between thinking levels and token budgets."""

from __future__ import annotations

from typing import Literal

from oshaberi.providers.request.model_request import Thinking

Effort = Literal["low", "medium", "high"]

BUDGETS: dict[Effort, int] = {"low": 2_048, "medium": 8_192, "high": 24_576}


def effort(thinking: Thinking) -> Effort | None:
    """The level of a level or a budget; None if it is off or left to the model."""
    if isinstance(thinking, int):
        if thinking == 0:
            return None
        return next((level for level in BUDGETS if thinking <= BUDGETS[level]), "high")
    return None if thinking is None or thinking == "off" else thinking


def budget(thinking: Thinking) -> int | None:
    """In tokens; 0 is off, None is left to the model."""
    if isinstance(thinking, int) or thinking is None:
        return thinking
    return 0 if thinking == "off" else BUDGETS[thinking]


def is_off(thinking: Thinking) -> bool:
    return thinking == "off" or (thinking == 0 and thinking is not False)
