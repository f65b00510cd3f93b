"""The fields that tell OpenAI's models how much to reason, and to return their reasoning."""

from __future__ import annotations

import re
from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.endpoint import Endpoint
from oshaberi.providers.request.model_request import Thinking
from oshaberi.providers.request.thinking_levels import is_off, nearest_level

Fields = dict[str, Any]

ENCRYPTED = "reasoning.encrypted_content"
_REASONING = re.compile(r"(?:^|/|\.)(?:o[1-9]|gpt-(?:[5-9]|oss)|codex|computer-use)(?!.*-chat)")


def reasons(model: str) -> bool:
    """Tell by its name whether a model is one of OpenAI's reasoning models."""
    return _REASONING.search(model) is not None


def include(endpoint: Endpoint) -> list[str] | None:
    """Ask for encrypted reasoning, except from models that do not reason: they refuse that."""
    wanted = endpoint.quirks.get("encrypted_reasoning", reasons(endpoint.model))
    return [ENCRYPTED] if wanted else None


def reasoning(wanted: Thinking, capabilities: ModelCapabilities) -> Fields | None:
    """Return a level and a request for a summary; None if the model decides."""
    level = nearest_level(wanted, capabilities.levels)
    if level is None or capabilities.thinking == "none":
        return None
    return {"effort": level} if is_off(wanted) else {"effort": level, "summary": "auto"}
