"""Builds the request to a model from the context and the model's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.providers.request.context_items import Item, ToolDeclaration
from oshaberi.providers.request.model_request import Request
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.turns.generation.engine_config import speakers

_OURS = ("temperature", "top_p", "max_output_tokens", "thinking")


def request_for(
    model: ModelRecord,
    items: tuple[Item, ...],
    tools: tuple[ToolDeclaration, ...],
    stream: StreamConfig,
    turn: TurnConfig,
) -> Request:
    """What a model's record has besides our own words goes to its API as it is."""
    text = stream.text
    guard = text.llm_stop_speaker_pattern_enabled or text.registered_speaker_guard_enabled
    params = {key: value for key, value in model.params.items() if value is not None}
    return Request(
        items,
        tools=tools,
        stop_strings=turn.llm_stop_strings,
        speaker_guard=guard,
        speakers=speakers(text),
        holdback_chars=turn.speaker_guard_holdback_chars,
        extra={key: value for key, value in params.items() if key not in _OURS},
        **{key: params[key] for key in _OURS if key in params},
    )


def config_for(stream: StreamConfig, text: Mapping[str, Any]) -> StreamConfig:
    """The stream's settings with what the model wants otherwise. Failures are shown by the turn."""
    return replace(stream, text=replace(stream.text, **text), suppress_user_errors=True)
