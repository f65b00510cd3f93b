"""Steps 01-03: from a request that names no API to `Chunk`s. SDKs are imported only when used.

- `connect` (`registry`) finds an adapter by provider name (`presets`). `model_options` are a
  model's own settings, `model_listing` lists the models of an endpoint, `local_context_windows`
  asks local servers for their window. `model_addresses` completes what people type as an address,
  `first_words` checks whether a model answers.
- `capabilities` says what a model can do; `request` is what it is asked, with `images`. After a
  refused request, `refusals` learns from the error and changes the request.
- A family has a folder (`openai_chat`, `openai_responses`, `anthropic`, `google`) with `request`
  (request to JSON), `events` (JSON to steps) and `adapter`, or one file (`ollama`, `novelai`).
  `replay` plays scenes. `base` and `wire` hold what families share.
- `cloud_accounts` has what cloud models have in common (`anthropic.clouds`, and the last parts of
  the adapters of `google` and `openai_responses`).
- `connections` carry the requests. `error_classification` finds the type of an error, and explains
  what is wrong with a connection.
"""

from oshaberi.providers.base import Adapter, RawChunk
from oshaberi.providers.presets import PRESETS, Preset
from oshaberi.providers.registry import connect, families, family
from oshaberi.providers.request.model_request import (
    ContextItem,
    Endpoint,
    FilePart,
    ImagePart,
    Item,
    Part,
    Request,
    TextPart,
    Thinking,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)

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
