"""Models on loopback: scripted servers that speak each family's wire format, faults included.

`model_script` has the steps of a script, `model_server` plays it (`script_playback`) over
`raw_http`. `wire_format` is the protocol that the formats implement: `openai_wire`,
`openai_responses_wire`, `anthropic_wire`, `google_wire`, `novelai_wire`.
"""

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
