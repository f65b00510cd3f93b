"""The fields that tell Anthropic's models how much to think: by budget, or by effort."""

from __future__ import annotations

from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.model_request import Thinking
from oshaberi.providers.request.thinking_levels import budget, is_off, nearest_level

Fields = dict[str, Any]


def thinking_fields(wanted: Thinking, capabilities: ModelCapabilities, longest: int) -> Fields:
    """Return the fields. `longest` limits the whole output, thoughts included."""
    if wanted is None or capabilities.thinking == "none":
        return {}
    if is_off(wanted) and capabilities.off is not None:
        return {"thinking": {"type": capabilities.off}}
    if capabilities.thinking == "budget":
        return _by_budget(budget(wanted) or 0, capabilities, longest)
    effort = {"output_config": {"effort": nearest_level(wanted, capabilities.levels)}}
    if is_off(wanted):
        return effort
    return {"thinking": {"type": "adaptive", "display": "summarized"}, **effort}


def _by_budget(wanted: int, capabilities: ModelCapabilities, longest: int) -> Fields:
    """Return a budget below the limit of the whole output, as the API requires."""
    tokens = max(min(wanted, longest - 1), capabilities.smallest_budget)
    if tokens >= longest:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
