"""Stages 01-03: from a provider-agnostic request to chunks. SDKs are imported only when used."""

from oshaberi.providers.base import Adapter, RawChunk
from oshaberi.providers.context import (
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
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.presets import PRESETS, Preset
from oshaberi.providers.registry import connect, families, family
from oshaberi.providers.request import Request, Thinking

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
