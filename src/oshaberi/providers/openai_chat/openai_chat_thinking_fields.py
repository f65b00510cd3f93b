"""The fields that tell an OpenAI-compatible server how much to think."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.model_request import Request, Thinking
from oshaberi.providers.request.thinking_levels import is_off, nearest_level

Fields = dict[str, Any]
Say = Callable[[Thinking, ModelCapabilities], Fields]


def thinking_fields(request: Request, capabilities: ModelCapabilities, style: str) -> Fields:
    """Return the fields; none if the model decides itself, or takes no such setting."""
    if capabilities.thinking == "none":
        return {}
    wanted = request.thinking
    if request.tools and not capabilities.tools_with_effort:
        # It may think by itself, and then refuses the tools: it is told not to.
        wanted = "off" if capabilities.can_be_off else None
    return {} if wanted is None else _STYLES[style](wanted, capabilities)


def _effort(wanted: Thinking, capabilities: ModelCapabilities) -> Fields:
    return {"reasoning_effort": nearest_level(wanted, capabilities.levels)}


def _openrouter(wanted: Thinking, capabilities: ModelCapabilities) -> Fields:
    if is_off(wanted) and capabilities.can_be_off:
        return {"reasoning": {"enabled": False}}
    if isinstance(wanted, int) and wanted:
        return {"reasoning": {"max_tokens": wanted}}
    return {"reasoning": {"effort": nearest_level(wanted, capabilities.levels)}}


def _switch(wanted: Thinking, capabilities: ModelCapabilities) -> Fields:
    if is_off(wanted) and not capabilities.can_be_off:
        return {}
    return {"thinking": {"type": "disabled" if is_off(wanted) else "enabled"}}


def _template(*names: str) -> Say:
    def made(wanted: Thinking, _capabilities: ModelCapabilities) -> Fields:
        return {"chat_template_kwargs": dict.fromkeys(names, not is_off(wanted))}

    return made


_STYLES: Mapping[str, Say] = {
    "effort": _effort,
    "openrouter": _openrouter,
    "switch": _switch,
    "enable_thinking": _template("enable_thinking"),
    "template_thinking": _template("thinking", "enable_thinking"),
    "none": lambda _wanted, _capabilities: {},
}
