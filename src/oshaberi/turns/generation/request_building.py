"""Builds the request to a model from the context and the model's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.providers.model_options import ModelOptions
from oshaberi.providers.request.context_items import Item, ToolDeclaration
from oshaberi.providers.request.model_request import Request
from oshaberi.turns.generation.engine_config import speakers


def request_for(
    options: ModelOptions,
    items: tuple[Item, ...],
    tools: tuple[ToolDeclaration, ...],
    stream: StreamConfig,
    turn: TurnConfig,
) -> Request:
    """Build the request. Options that Oshaberi does not know go to the model's API unchanged."""
    text = stream.text
    guard = text.llm_stop_speaker_pattern_enabled or text.registered_speaker_guard_enabled
    return Request(
        items,
        tools=tools,
        stop_strings=turn.llm_stop_strings,
        speaker_guard=guard,
        speakers=speakers(text),
        holdback_chars=turn.speaker_guard_holdback_chars,
        **options.request_fields(),
    )


def config_for(
    stream: StreamConfig, text: Mapping[str, Any], prefill: str | None = None
) -> StreamConfig:
    """Return the stream's settings with the model's. Failures are not shown: the turn does that."""
    changed = replace(stream.text, output_prefill=prefill, **text)
    return replace(stream, text=changed, suppress_user_errors=True)


def begun_request(request: Request, takes_prefill: bool) -> Request:
    """Return the request; without its prefill if the model does not take one."""
    return request if takes_prefill or request.prefill is None else replace(request, prefill=None)
