"""`python -m bench.whole_bot.token_server`: a model that answers at a steady pace, and cheaply.

Speaks as much HTTP/1.1 as an OpenAI client needs, with connections that are kept. One timer serves
all streams; whoever is late gets what is due at once.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
import os
from collections.abc import Sequence
from functools import lru_cache

from bench.tokens import chunk_json
from bench.whole_bot.numbered_answers import TOKENS_PER_SECOND, answer_tokens, newest_question
from bench.whole_bot.process_probe import ProcessProbe, tell

_TICK_S = 0.002
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_BAD = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"


class TokenStreams:
    """All answers that run, the next token first."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, asyncio.Transport, Sequence[bytes], int]] = []
        self._numbers = itertools.count()

    def begin(self, transport: asyncio.Transport, events: Sequence[bytes]) -> None:
        transport.write(_HEAD)
        first = asyncio.get_running_loop().time() + 1 / TOKENS_PER_SECOND
        heapq.heappush(self._due, (first, next(self._numbers), transport, events, 0))

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_TICK_S)
            now = loop.time()
            while self._due and self._due[0][0] <= now:
                due, number, transport, events, at = self._due[0]
                transport.write(events[at])
                if at + 1 == len(events) or transport.is_closing():
                    heapq.heappop(self._due)
                    continue
                after = (due + 1 / TOKENS_PER_SECOND, number, transport, events, at + 1)
                heapq.heapreplace(self._due, after)


class TokenConnection(asyncio.Protocol):
    """One request after the other."""

    def __init__(self, streams: TokenStreams) -> None:
        self._streams = streams
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, gap, rest = self._received.partition(b"\r\n\r\n")
        length = _content_length(head)
        if not gap or len(rest) < length:
            return
        self._received = rest[length:]
        self._answer(head, rest[:length])

    def _answer(self, head: bytes, body: bytes) -> None:
        if not head.startswith(b"POST /v1/chat/completions"):
            self._transport.write(_NOT_FOUND)
            return
        try:
            number, lines = newest_question(body)
        except ValueError:
            self._transport.write(_BAD)
            return
        self._streams.begin(self._transport, _events(number, lines))


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _events(number: int, lines: int) -> list[bytes]:
    """What is written at each step; the end comes with the last token."""
    tokens = answer_tokens(number, lines)
    events = [_event(token) for token in tokens]
    events[-1] += _ending(len(tokens))
    return events


@lru_cache(maxsize=4096)
def _event(token: str) -> bytes:
    return _http_chunk(f"data: {chunk_json(token)}\n\n")


def _ending(tokens: int) -> bytes:
    last = json.loads(chunk_json(""))
    last["choices"][0] |= {"delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens}
    counted = last | {"choices": [], "usage": usage}
    events = (json.dumps(last), json.dumps(counted), "[DONE]")
    return _http_chunk("".join(f"data: {event}\n\n" for event in events)) + b"0\r\n\r\n"


def _http_chunk(text: str) -> bytes:
    content = text.encode()
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


async def serve() -> None:
    streams = TokenStreams()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: TokenConnection(streams), "127.0.0.1", 0, backlog=2048
    )
    probe = ProcessProbe()
    probe.start()
    port = server.sockets[0].getsockname()[1]
    tell(f"READY http://127.0.0.1:{port}/v1")
    running = asyncio.create_task(streams.run())
    await probe.answer_on_stdin(lambda: None)
    running.cancel()


if __name__ == "__main__":
    asyncio.run(serve())
    os._exit(0)  # connections that are still open are nobody's any more
