"""Stages 01-03: from a request that names no API to `Chunk`s. SDKs are imported only when used.

`connect` (`adapter_registry`) finds an adapter by provider name (`provider_presets`). `request/`
holds what is asked; each family's folder has `body` (request to JSON), `events` (JSON to steps)
and `adapter`; `wire/` holds what the families share. `error_classification` names what failed.
"""

from oshaberi.providers.adapter_base import Adapter, RawChunk
from oshaberi.providers.adapter_registry import connect, families, family
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.provider_presets import PRESETS, Preset
from oshaberi.providers.request.context_items import (
    ContextItem,
    FilePart,
    ImagePart,
    Item,
    Part,
    TextPart,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from oshaberi.providers.request.model_request import Request, Thinking

__all__ = [
    "PRESETS",
    "Adapter",
    "ContextItem",
    "Endpoint",
    "FilePart",
    "ImagePart",
    "Item",
    "Part",
    "Preset",
    "RawChunk",
    "Request",
    "TextPart",
    "Thinking",
    "ToolDeclaration",
    "ToolResult",
    "ToolRound",
    "connect",
    "families",
    "family",
    "said",
]
