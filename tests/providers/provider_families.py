"""The families that the shared suite runs over. Add a line, and everything is asked of it too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pytest

from discord_stage.model_servers import (
    AnthropicWire,
    BedrockWire,
    ModelServer,
    OllamaWire,
    OpenAIResponsesWire,
    OpenAIWire,
    VertexClaudeWire,
    VertexWire,
    WireFormat,
)
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.novelai_wire import NovelAIWire
from oshaberi.chunks import ErrorType
from oshaberi.providers.base import Adapter
from oshaberi.providers.registry import connect

Ability = Literal[
    "thoughts", "signatures", "calls", "call_pieces", "usage", "error_events", "filter"
]
EVERYTHING: frozenset[Ability] = frozenset(get_args(Ability))
ALL_KINDS: frozenset[ErrorType] = frozenset(get_args(ErrorType)) - {"network"}

KEY = "hush-This1sTheKey-of-nobody"


@dataclass(frozen=True)
class Family:
    """A wire, the preset that talks to it, and what its API cannot do."""

    name: str
    wire: Callable[[], WireFormat]
    preset: str
    lacks: frozenset[Ability] = frozenset()
    kinds: frozenset[ErrorType] = ALL_KINDS
    settings: Mapping[str, Any] = field(default_factory=dict)
    keeps_connections: bool = False
    """Whether a proxy stands between, which keeps its connections to the scripted server."""

    def connect(self, server: ModelServer, **settings: Any) -> Adapter:
        given = {"api_key": KEY, "base_url": server.url, **self.settings, **settings}
        return connect(self.preset, "model-1", **given)

    def __str__(self) -> str:
        return self.name


GOOGLE_CLOUD = {"region": "europe-west1", "project": "tea-house-1"}
FAMILIES: tuple[Family, ...] = (
    Family("openai", OpenAIWire, "openai"),
    Family("openrouter", lambda: OpenAIWire("reasoning"), "openrouter"),
    Family("deepseek", OpenAIWire, "deepseek"),
    Family("openai-responses", OpenAIResponsesWire, "openai-responses"),
    Family("xai-responses", OpenAIResponsesWire, "xai-responses"),
    Family("anthropic", AnthropicWire, "anthropic"),
    Family("google", GoogleWire, "google", lacks=frozenset({"call_pieces"})),
    Family(
        "ollama-native",
        OllamaWire,
        "ollama-native",
        lacks=frozenset({"call_pieces", "signatures", "usage", "filter"}),
    ),
    Family("novelai", NovelAIWire, "novelai", lacks=EVERYTHING - {"error_events"}),
    # The clouds, with a token in the place of a key: test_clouds.py has their own ways to sign in.
    Family("bedrock", BedrockWire, "bedrock", settings={"region": "eu-central-1"}),
    Family("vertex-claude", VertexClaudeWire, "vertex-claude", settings=GOOGLE_CLOUD),
    Family("vertex", VertexWire, "vertex", lacks=frozenset({"call_pieces"}), settings=GOOGLE_CLOUD),
    Family("azure-entra", OpenAIResponsesWire, "azure-entra"),
)


def having(*abilities: Ability) -> pytest.MarkDecorator:
    """A test of every family that can do this."""
    able = [family for family in FAMILIES if not family.lacks & set(abilities)]
    return pytest.mark.parametrize("family", able, ids=str)


every_family = having()
