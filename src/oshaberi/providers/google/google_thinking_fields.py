"""The fields that tell Gemini how much to think: a budget up to Gemini 2.5, else a level."""

from __future__ import annotations

from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.endpoint import Endpoint
from oshaberi.providers.request.model_request import Thinking
from oshaberi.providers.request.thinking_levels import budget, is_off, nearest_level


def thinking_config(
    thinking: Thinking, endpoint: Endpoint, capabilities: ModelCapabilities
) -> dict[str, Any] | None:
    """Return the `thinking_config`; None if the model decides."""
    style = endpoint.quirks.get("thinking", capabilities.thinking)
    if thinking is None or style == "none":
        return None
    shown = {"include_thoughts": not is_off(thinking)}
    if style == "budget":
        return shown | {"thinking_budget": _budget(thinking, capabilities)}
    return shown | {"thinking_level": str(nearest_level(thinking, capabilities.levels)).upper()}


def _budget(thinking: Thinking, capabilities: ModelCapabilities) -> int:
    if is_off(thinking) and capabilities.off is not None:
        return 0
    wanted = max(budget(thinking) or 0, capabilities.smallest_budget)
    most = capabilities.largest_budget
    return wanted if most is None else min(wanted, most)
