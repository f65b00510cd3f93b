"""Steps 01-03: from a request that names no API to `Chunk`s. SDKs are imported only when used.

- `connect` (`adapter_registry`) finds an adapter by provider name (`provider_presets`).
  `model_options` are a model's own settings, `model_listing` lists the models of an endpoint,
  `local_context_windows` asks local servers for their window.
- `capabilities` says what a model can do, `request` holds what it is asked, with `images`. After a
  refused request, `refusals` learns from the error and changes the request.
- A family has a folder (`openai_chat`, `openai_responses`, `anthropic`, `google`, `novelai`) with
  `…_request_body` (request to JSON), `…_wire_events` (JSON to steps) and `…_adapter`, each with the
  folder's name in front. `replay` plays scenes. `adapter_base` and `wire` hold what families share.
- `connections` carry the requests; `local_addresses` recognises addresses that only the operator's
  own models may use.
- `error_classification` finds the type of an error.
"""

from oshaberi.providers.adapter_base import Adapter, RawChunk
from oshaberi.providers.adapter_registry import connect, families, family
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
from oshaberi.providers.request.endpoint import Endpoint
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
