"""Bedrock's wire: Anthropic's events, each in base64 in a message of AWS's event stream.

A message is: its length, the length of its headers, a checksum of both; headers; a payload; a
checksum of everything. The client's request is signed; the stage does not check the signature.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from struct import pack
from zlib import crc32

from discord_stage.model_servers.anthropic_wire import AnthropicEncoder
from discord_stage.model_servers.scripts import (
    Call,
    Cite,
    Count,
    ErrorEvent,
    FailureKind,
    FinishReason,
    Refuse,
    Show,
    Think,
)
from discord_stage.model_servers.wire_format import Encoder, ReceivedRequest, WireAnswer

_PATH = re.compile(r"/model/[^/]+/invoke-with-response-stream")
_REFUSALS: Mapping[FailureKind, tuple[int, str, str]] = {
    "rate_limit": (429, "ThrottlingException", "Too many requests, please wait."),
    "provider_overloaded": (503, "ServiceUnavailableException", "Bedrock is unable to process it."),
    "timeout": (408, "ModelTimeoutException", "The model did not finish in time."),
    "content_blocked": (400, "ValidationException", "Output blocked by content filtering policy"),
    "auth": (403, "UnrecognizedClientException", "The token in the request is invalid."),
    "model_error": (400, "ValidationException", "The provided model identifier is invalid."),
    "context_length": (400, "ValidationException", "Input is too long: prompt is too long: 9 > 8"),
    "balance_exhausted": (402, "AccessDeniedException", "Payment required."),
    "affordability": (402, "ValidationException", "You can only afford 20 tokens"),
    "network": (502, "InternalServerException", "Bad gateway"),
    "api_error": (400, "ValidationException", "messages: roles must alternate"),
}


class BedrockWire:
    """The wire format of Claude on Bedrock."""

    name = "bedrock"
    base_path = ""
    content_type = "application/vnd.amazon.eventstream"

    def answers(self, request: ReceivedRequest) -> bool:
        return request.method == "POST" and _PATH.fullmatch(request.path) is not None

    def refuse(self, step: Refuse) -> WireAnswer:
        status, kind, message = _REFUSALS[step.kind]
        return _refusal(status, kind, step.message or message)

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        named = f"Malformed input request: #: extraneous key [{key}] is not permitted"
        return _refusal(400, "ValidationException", named if key else "Bad request")

    def encoder(self, request: ReceivedRequest) -> Encoder:
        return BedrockEncoder(request.json)


def _refusal(status: int, kind: str, message: str) -> WireAnswer:
    headers = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/coral/"}
    return WireAnswer(status, json.dumps({"message": message}), headers)


class BedrockEncoder:
    def __init__(self, asked: Mapping[str, object]) -> None:
        self._events = AnthropicEncoder(asked)

    def begin(self) -> Sequence[bytes]:
        return _messages(self._events.begin())

    def say(self, text: str) -> Sequence[bytes]:
        return _messages(self._events.say(text))

    def think(self, step: Think) -> Sequence[bytes]:
        return _messages(self._events.think(step))

    def call(self, step: Call) -> Sequence[bytes]:
        return _messages(self._events.call(step))

    def show(self, _step: Show) -> Sequence[bytes]:
        return []

    def cite(self, step: Cite) -> Sequence[bytes]:
        return _messages(self._events.cite(step))

    def error(self, step: ErrorEvent) -> Sequence[bytes]:
        _status, kind, message = _REFUSALS[step.kind]
        name = kind[:1].lower() + kind[1:]
        headers = {":exception-type": name, ":message-type": "exception"}
        return [message_of(json.dumps({"message": step.message or message}).encode(), headers)]

    def garbage(self, text: str) -> Sequence[bytes]:
        return [_chunk(text)]

    def keep_alive(self) -> Sequence[bytes]:
        return _messages(self._events.keep_alive())

    def end(self, reason: FinishReason, count: Count | None) -> Sequence[bytes]:
        return _messages(self._events.end(reason, count))


def _messages(frames: Iterable[str]) -> list[bytes]:
    """Return the events as messages. A comment, which keeps an event stream alive, is left out."""
    data = (frame.partition("data: ")[2].strip() for frame in frames)
    return [_chunk(one) for one in data if one]


def _chunk(data: str) -> bytes:
    payload = {"bytes": b64encode(data.encode()).decode(), "p": "abcdefgh"}
    headers = {
        ":event-type": "chunk",
        ":content-type": "application/json",
        ":message-type": "event",
    }
    return message_of(json.dumps(payload).encode(), headers)


def message_of(payload: bytes, headers: Mapping[str, str]) -> bytes:
    """Return one message of an event stream, with headers that are texts."""
    packed = b"".join(
        pack(">B", len(name)) + name.encode() + b"\x07" + pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    lengths = pack(">II", 16 + len(packed) + len(payload), len(packed))
    begun = lengths + pack(">I", crc32(lengths)) + packed + payload
    return begun + pack(">I", crc32(begun))
