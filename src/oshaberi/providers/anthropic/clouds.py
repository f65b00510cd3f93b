"""Claude on Amazon Bedrock and on Vertex AI: the clients of Anthropic's SDK sign the requests.

The requests are those of the Messages API; the SDK puts the model into the path. Bedrock's answers
are in AWS's own framing, Vertex AI's are an event stream.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Sequence
from struct import Struct, error, unpack_from
from typing import Any
from zlib import crc32

from oshaberi.checked_json import parse_json
from oshaberi.errors import Sentence
from oshaberi.providers.anthropic.adapter import AnthropicAdapter
from oshaberi.providers.cloud_accounts import vertex_address
from oshaberi.providers.connections.sdk import load_sdk
from oshaberi.providers.error_classification import our_failure
from oshaberi.providers.wire.errors import StreamError
from oshaberi.providers.wire.sse_decoder import LONGEST_EVENT, NOT_A_STREAM

# Decodes AWS's event stream, in which Bedrock frames the events of an answer.
#
# A message is: its length, the length of its headers, a checksum of these two; headers; a payload;
# a checksum of everything (big-endian, CRC-32). The payload of a `chunk` has one event in base64.


_PRELUDE = Struct(">III")
_CHECKSUM_BYTES = 4
_SMALLEST = _PRELUDE.size + _CHECKSUM_BYTES
_FIXED_BYTES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The lengths of header values by type; the other types (6 bytes, 7 text) carry their own
length."""
_TEXT = 7
_TOO_LONG = Sentence("the provider sent an endless line")


class AwsEventDecoder:
    """Decodes one response; `feed` returns the JSON of the events that a piece completes."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes) -> Sequence[str]:
        self._held += piece
        return list(self._events())

    def finish(self) -> Sequence[str]:
        """End the body. An incomplete event is dropped: the answer was cut off."""
        return ()

    def _events(self) -> Iterator[str]:
        at = 0
        try:
            while len(self._held) - at >= _PRELUDE.size:
                size, headers_size, checksum = _PRELUDE.unpack_from(self._held, at)
                if crc32(self._held[at : at + 8]) != checksum or size < _SMALLEST + headers_size:
                    raise StreamError(our_failure(NOT_A_STREAM))
                if size > LONGEST_EVENT:
                    raise StreamError(our_failure(_TOO_LONG, kind="api_error"))
                if len(self._held) - at < size:
                    return
                message = bytes(self._held[at : at + size])
                at += size
                yield from _read(message, headers_size)
        finally:
            del self._held[:at]


def _read(message: bytes, headers_size: int) -> Iterator[str]:
    (checksum,) = unpack_from(">I", message, len(message) - _CHECKSUM_BYTES)
    if crc32(message[:-_CHECKSUM_BYTES]) != checksum:
        raise StreamError(our_failure(NOT_A_STREAM))
    start = _PRELUDE.size + headers_size
    headers = _headers(message[_PRELUDE.size : start])
    payload = message[start:-_CHECKSUM_BYTES].decode("utf-8", "replace")
    kind = headers.get(":message-type", "event")
    if kind != "event":
        yield _problem(headers, payload)
    elif headers.get(":event-type", "chunk") == "chunk":
        held = parse_json(payload)
        if isinstance(held, dict) and isinstance(held.get("bytes"), str):
            yield b64decode(held["bytes"]).decode("utf-8", "replace")


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers that are texts. Raises StreamError if they cannot be read."""
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name, kind = data[at + 1 : name_end].decode("ascii", "replace"), data[name_end]
            at = name_end + 1
            if kind in _FIXED_BYTES:
                at += _FIXED_BYTES[kind]
                continue
            (size,) = unpack_from(">H", data, at)
            if kind == _TEXT:
                found[name] = data[at + 2 : at + 2 + size].decode("utf-8", "replace")
            at += 2 + size
    except (IndexError, error):
        raise StreamError(our_failure(NOT_A_STREAM)) from None
    return found


def _problem(headers: dict[str, str], payload: str) -> str:
    """Return an error in mid-answer the way Anthropic's own API would send it."""
    try:
        said = parse_json(payload)
    except ValueError:
        said = payload
    words = said.get("message") if isinstance(said, dict) else said
    name = headers.get(":exception-type") or headers.get(":error-code") or "error"
    message = words or headers.get(":error-message") or name
    return json.dumps({"type": "error", "error": {"type": name, "message": str(message)}})


class BedrockAdapter(AnthropicAdapter):
    """One model behind `POST {base_url}/model/NAME/invoke-with-response-stream`.

    A key is sent as a Bedrock API key; without one the request is signed (SigV4).
    """

    listed_as = "bedrock"
    decoder = AwsEventDecoder

    def _client_of(self, sdk: Any, common: dict[str, Any]) -> Any:
        if self.endpoint.api_key is None:
            load_sdk("boto3", "bedrock")
        region = self.endpoint.region
        common["base_url"] = common["base_url"] or f"https://bedrock-runtime.{region}.amazonaws.com"
        return sdk.AsyncAnthropicBedrock(aws_region=region, api_key=self.endpoint.api_key, **common)


class VertexClaudeAdapter(AnthropicAdapter):
    """One model behind `POST {base_url}/projects/…/models/NAME:streamRawPredict`.

    A key is sent as an access token; without one the SDK asks Google for tokens.
    """

    listed_as = "vertex-claude"

    def _client_of(self, sdk: Any, common: dict[str, Any]) -> Any:
        if self.endpoint.api_key is None:
            load_sdk("google.auth", "vertex")
        region = self.endpoint.region or ""
        common["base_url"] = common["base_url"] or f"{vertex_address(region)}/v1"
        return sdk.AsyncAnthropicVertex(
            region=region,
            project_id=self.endpoint.project,
            access_token=self.endpoint.api_key,
            **common,
        )
