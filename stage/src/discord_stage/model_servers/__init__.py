"""Model servers on the loopback address: scripted, in each family's wire format, faults included.

`scripts` has the steps of a script, `server` plays it. `wire_format` is the Protocol that the
formats implement: `openai_wire`, `openai_responses_wire`, `anthropic_wire`, `bedrock_wire`,
`google_wire`, `novelai_wire`, `ollama_wire`. `prompt_cache` counts what an API would read from its
cache.
"""

from discord_stage.model_servers.anthropic_wire import AnthropicWire, VertexClaudeWire
from discord_stage.model_servers.bedrock_wire import BedrockWire
from discord_stage.model_servers.google_wire import GoogleWire, VertexWire
from discord_stage.model_servers.novelai_wire import NovelAIWire
from discord_stage.model_servers.ollama_wire import OllamaWire
from discord_stage.model_servers.openai_responses_wire import OpenAIResponsesWire
from discord_stage.model_servers.openai_wire import OpenAIWire
from discord_stage.model_servers.prompt_cache import PromptCache
from discord_stage.model_servers.server import ModelConnection, ModelServer
from discord_stage.model_servers.wire_format import ReceivedRequest, WireFormat

__all__ = [
    "AnthropicWire",
    "BedrockWire",
    "GoogleWire",
    "ModelConnection",
    "ModelServer",
    "NovelAIWire",
    "OllamaWire",
    "OpenAIResponsesWire",
    "OpenAIWire",
    "PromptCache",
    "ReceivedRequest",
    "VertexClaudeWire",
    "VertexWire",
    "WireFormat",
]
