"""Models on loopback: scripted servers that speak each family's wire format, faults included."""

from oshaberi.stage.model_servers.anthropic_wire import AnthropicWire
from oshaberi.stage.model_servers.model_server import ModelConnection, ModelServer
from oshaberi.stage.model_servers.openai_responses_wire import OpenAIResponsesWire
from oshaberi.stage.model_servers.openai_wire import OpenAIWire
from oshaberi.stage.model_servers.wire_format import ReceivedRequest, WireFormat

__all__ = [
    "AnthropicWire",
    "ModelConnection",
    "ModelServer",
    "OpenAIResponsesWire",
    "OpenAIWire",
    "ReceivedRequest",
    "WireFormat",
]
