"""Models on loopback: scripted servers that speak each family's wire format, faults included."""

from oshaberi.stage.models.anthropic import AnthropicWire
from oshaberi.stage.models.openai import OpenAIWire
from oshaberi.stage.models.server import Connection, ModelServer
from oshaberi.stage.models.wire import Received, Wire

__all__ = ["AnthropicWire", "Connection", "ModelServer", "OpenAIWire", "Received", "Wire"]
