"""A model's server that sends what it likes, as fast as the socket takes it, from its own thread.

A thread's processor time is not the loop's, and it sends the same block again and again, so that
neither time nor memory of the server is measured with the client's.
"""

from __future__ import annotations

import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple

BLOCK = 64 * 1024


class Flood(NamedTuple):
    """What the server answers: status, further headers, and the blocks of its body."""

    blocks: Iterable[bytes]
    status: int = 200
    headers: tuple[str, ...] = ("content-type: text/event-stream",)


@dataclass
class FloodServer:
    """Answers the n-th request with the n-th flood, and every further one with the last."""

    floods: list[Flood]
    url: str = ""
    requests: list[str] = field(default_factory=list)
    """The heads of the requests, in lower case."""
    sent_bytes: int = 0

    def serve(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _address = listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):  # the client has had enough
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        head = _request(connection)
        flood = self.floods[min(len(self.requests), len(self.floods) - 1)]
        self.requests.append(head)
        lines = (f"HTTP/1.1 {flood.status} X", "connection: close", *flood.headers, "", "")
        connection.sendall("\r\n".join(lines).encode())
        for block in flood.blocks:
            connection.sendall(block)
            self.sent_bytes += len(block)


@contextmanager
def flooding(*floods: Flood) -> Iterator[FloodServer]:
    """Run a server for the block."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = FloodServer(list(floods), f"http://127.0.0.1:{listening.getsockname()[1]}")
        thread = threading.Thread(target=server.serve, args=(listening,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def _request(connection: socket.socket) -> str:
    read = b""
    while b"\r\n\r\n" not in read:
        read += connection.recv(BLOCK)
    head, _, body = read.partition(b"\r\n\r\n")
    text = head.decode().lower()
    length = next(
        (int(line[15:]) for line in text.split("\r\n") if line[:15] == "content-length:"), 0
    )
    while len(body) < length:
        body += connection.recv(BLOCK)
    return text


def times(megabytes: float, piece: bytes) -> Iterable[bytes]:
    """So many megabytes of one piece, in blocks."""
    block = piece * max(1, BLOCK // len(piece))
    return repeat(block, max(1, int(megabytes * 1e6 / len(block))))


def zipped(megabytes: int, piece: bytes) -> bytes:
    """So many megabytes of one piece, as gzip."""
    packing = zlib.compressobj(1, wbits=31)
    packed = [packing.compress(block) for block in times(megabytes, piece)]
    return b"".join((*packed, packing.flush()))


# -- events of each family -----------------------------------------------------------------------


def event(document: Any) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


class Dialect(NamedTuple):
    """How a family says text and thoughts, and how it begins and continues a tool call."""

    text: Callable[[str], bytes]
    thought: Callable[[str], bytes] | None = None
    call: bytes = b""
    argument: Callable[[str], bytes] | None = None
    end: bytes = b""
    usage: Callable[[str], bytes] | None = None
    """The end of an answer, with JSON for the counts of tokens."""


def _chat(**delta: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta}]})


def _block(kind: str, **delta: Any) -> bytes:
    return event({"type": "content_block_delta", "index": 0, "delta": {"type": kind, **delta}})


def _gemini(**part: Any) -> bytes:
    return event({"candidates": [{"index": 0, "content": {"parts": [part], "role": "model"}}]})


def _chat_call(arguments: str, **more: Any) -> bytes:
    function = {"arguments": arguments, **more}
    return _chat(tool_calls=[{"index": 0, "id": "call_1", "function": function}])


_ITEM = {"output_index": 1, "item_id": "f_1"}

CHAT = Dialect(
    lambda text: _chat(content=text),
    lambda text: _chat(reasoning_content=text),
    _chat_call("", name="look"),
    lambda text: _chat_call(text),
    event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    lambda counts: (
        b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": '
        b'{"prompt_tokens": %s, "completion_tokens": %s}}\n\n' % ((counts.encode(),) * 2)
    ),
)
RESPONSES = Dialect(
    lambda text: event(
        {"type": "response.output_text.delta", "delta": text, "output_index": 0, "item_id": "m"}
    ),
    lambda text: event({"type": "response.reasoning_text.delta", "delta": text, "item_id": "r"}),
    event(
        {
            "type": "response.output_item.added",
            "item": {"type": "function_call", "name": "look", "call_id": "c"},
            **_ITEM,
        }
    ),
    lambda text: event({"type": "response.function_call_arguments.delta", "delta": text, **_ITEM}),
    event({"type": "response.completed", "response": {"status": "completed"}}),
    lambda counts: (
        b'data: {"type": "response.completed", "response": {"status": "completed", "usage": '
        b'{"input_tokens": %s, "output_tokens": %s}}}\n\n' % ((counts.encode(),) * 2)
    ),
)
MESSAGES = Dialect(
    lambda text: _block("text_delta", text=text),
    lambda text: _block("thinking_delta", thinking=text),
    event(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "look", "input": {}},
        }
    ),
    lambda text: _block("input_json_delta", partial_json=text),
    event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
    lambda counts: (
        b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": '
        b'{"input_tokens": %s, "output_tokens": %s}}\n\n' % ((counts.encode(),) * 2)
    ),
)
GEMINI = Dialect(
    lambda text: _gemini(text=text),
    lambda text: _gemini(text=text, thought=True),
    _gemini(functionCall={"name": "look", "willContinue": True}),
    lambda text: _gemini(
        functionCall={
            "partialArgs": [{"jsonPath": "$.at", "stringValue": text}],
            "willContinue": True,
        }
    ),
    event({"candidates": [{"index": 0, "finishReason": "STOP"}]}),
    lambda counts: (
        b'data: {"candidates": [{"index": 0, "finishReason": "STOP"}], "usageMetadata": '
        b'{"promptTokenCount": %s, "candidatesTokenCount": %s}}\n\n' % ((counts.encode(),) * 2)
    ),
)
STORY = Dialect(
    lambda text: event({"token": text, "final": False}),
    end=event({"token": "", "final": True}),
)

DIALECTS: dict[str, Dialect] = {
    "openai": CHAT,
    "openai-responses": RESPONSES,
    "anthropic": MESSAGES,
    "google": GEMINI,
    "novelai": STORY,
}
"""By provider: one of each adapter."""
