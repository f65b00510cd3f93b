"""A model on loopback that plays scripts: `async with ModelServer(wire) as server:`."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import assert_never

from discord_stage.model_servers.prompt_cache import PromptCache, TooManyMarksError
from discord_stage.model_servers.scripts import (
    Call,
    Cite,
    Count,
    Cut,
    ErrorEvent,
    Finish,
    FinishReason,
    Garbage,
    KeepAlive,
    NoAnswer,
    Refuse,
    RefuseParameters,
    RepeatTail,
    Say,
    Script,
    Show,
    Stall,
    Status,
    Step,
    Think,
)
from discord_stage.model_servers.wire_format import (
    Encoder,
    Frame,
    ReceivedRequest,
    WireAnswer,
    WireFormat,
    in_bytes,
)
from discord_stage.scaled_loop import scale_of

# Minimal HTTP/1.1 for scripted servers that must be able to break the protocol.


_NOW = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing sends RST."""


async def read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    """Read the next request of a connection, or None at its end."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw.decode("latin-1").strip().split("\r\n")
    method, path, _version = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return ReceivedRequest(method, path, headers, await _body(reader, headers))


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the head of a chunked answer."""
    return _head(status, {**headers, "transfer-encoding": "chunked"})


def piece(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def end_of_body() -> bytes:
    return b"0\r\n\r\n"


def whole(answer: WireAnswer) -> bytes:
    """Return an answer of known length, as JSON unless its headers say something else."""
    body = answer.body.encode()
    length = {"content-length": str(len(body))}
    return (
        _head(answer.status, {"content-type": "application/json", **answer.headers, **length})
        + body
    )


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with RST, as a crashing server does."""
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOW)
    writer.transport.abort()


# Turns a script into the answer: one refusal, or the frames of a stream. Pure.


Break = Cut | Stall


@dataclass(frozen=True, slots=True)
class PlannedStream:
    """A streamed answer: its events, and where it breaks. Without a break it ends properly."""

    frames: tuple[Frame | Break, ...]


Reply = WireAnswer | PlannedStream | NoAnswer


def plan(wire: WireFormat, script: Script, request: ReceivedRequest) -> Reply:
    """Return the server's reply to this request."""
    for step in script:
        match step:
            case Refuse():
                return wire.refuse(step)
            case NoAnswer():
                return step
            case Status(status, body, headers):
                return WireAnswer(status, body, headers)
            case RefuseParameters():
                refused = _refused_key(step, request)
                if refused is not None and step.in_stream:
                    return _broken_off(wire.encoder(request), refused if step.named else None)
                if refused is not None:
                    return wire.refuse_parameter(refused if step.named else None)
            case _:
                pass
    return PlannedStream(tuple(_Playing(wire.encoder(request)).frames(script)))


def _refused_key(step: RefuseParameters, request: ReceivedRequest) -> str | None:
    body = request.json
    return next((key for key in step.keys if key in body), None)


def _broken_off(encoder: Encoder, key: str | None) -> PlannedStream:
    named = f"Unsupported parameter: '{key}'" if key else "Bad request"
    event = ErrorEvent("api_error", named, parameter=key)
    return PlannedStream((*encoder.begin(), *encoder.error(event)))


class _Playing:
    """Passes one script through an encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._said = ""
        self._reason: FinishReason = "stop"
        self._count: Count | None = None

    def frames(self, script: Script) -> Sequence[Frame | Break]:
        frames: list[Frame | Break] = list(self._encoder.begin())
        for step in script:
            if isinstance(step, Cut | Stall):
                return [*frames, step]
            frames += self._frames(step)
            if isinstance(step, ErrorEvent):
                return frames
        return [*frames, *self._encoder.end(self._reason, self._count)]

    def _frames(self, step: Step) -> Sequence[Frame]:
        match step:
            case Say(texts):
                return [frame for text in texts for frame in self._say(text)]
            case RepeatTail(chars, text):
                return self._say(self._said[-chars:] + text)
            case Think():
                return self._encoder.think(step)
            case Call():
                self._reason = "tool_calls"
                return self._encoder.call(step)
            case Show() | Cite():
                encode = self._encoder
                return encode.show(step) if isinstance(step, Show) else encode.cite(step)
            case Count():
                self._count = step
                return []
            case Finish(reason):
                self._reason = reason
                return []
            case ErrorEvent():
                return self._encoder.error(step)
            case Garbage(text):
                return self._encoder.garbage(text)
            case KeepAlive():
                return self._encoder.keep_alive()
            case Cut() | Stall() | NoAnswer() | RefuseParameters() | Refuse() | Status():
                return []
            case _:
                assert_never(step)

    def _say(self, text: str) -> Sequence[Frame]:
        self._said += text
        return self._encoder.say(text)


# A model on loopback that plays scripts: `async with ModelServer(wire) as server:`.
#
# `server.play(...)` queues the next answer, `requests` are the received requests, `connections`
# show which connections the client has closed. Nothing is timed; a stall lasts until the client
# disconnects.


HOST = "127.0.0.1"
WAIT_S = 30.0


@dataclass(slots=True)
class ModelConnection:
    """One TCP connection: how many answers were begun and completed, and how it ended."""

    begun: int = 0
    completed: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)


class ModelServer:
    """Plays one script per request, in order; without a script it says hello.

    `slice_bytes` cuts its output into pieces of that size, at any byte. With a `cache` it counts
    the tokens of each request, and those that it has read before.
    """

    def __init__(
        self,
        wire: WireFormat,
        *scripts: Sequence[Step],
        slice_bytes: int = 0,
        cache: PromptCache | None = None,
    ) -> None:
        self.wire = wire
        self.cache = cache
        self.counts: list[Count] = []
        """What each answer with a `cache` counted."""
        self.requests: list[ReceivedRequest] = []
        self.connections: list[ModelConnection] = []
        self._scripts: deque[Script] = deque(tuple(script) for script in scripts)
        self._slice_bytes = slice_bytes
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._changed = asyncio.Condition()
        self._server: asyncio.Server
        self._address = ""
        self._port = 0

    async def __aenter__(self) -> ModelServer:
        await self.reopen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.shut()

    async def shut(self) -> None:
        """Cut every connection and refuse new ones, as if the process had ended."""
        self._server.close()
        for writer in self._serving.values():
            writer.transport.abort()
        await asyncio.gather(*self._serving)
        await self._server.wait_closed()

    async def reopen(self) -> None:
        """Accept connections at the earlier address, if there was one."""
        if self._address and self._server.is_serving():
            return
        self._server = await asyncio.start_server(self._accept, HOST, self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        self._address = f"http://{HOST}:{self._port}"

    @property
    def url(self) -> str:
        """Return the base URL for the SDK of this family."""
        return self._address + self.wire.base_path

    def play(self, *steps: Step) -> None:
        """Queue a script. The next request that has none plays it."""
        self._scripts.append(steps)

    def forget(self) -> None:
        """Drop the scripts that no request has played yet."""
        self._scripts.clear()

    async def all_closed(self) -> None:
        """Wait until the client has closed every connection. Raises on a timeout."""
        async with _patience():
            for connection in self.connections:
                await connection.closed.wait()

    async def asked(self, times: int = 1) -> None:
        """Wait until this many requests have arrived."""
        async with _patience(), self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= times)

    async def idle(self) -> None:
        """Wait until no connection has an unfinished answer: each was completed or closed."""
        async with _patience(), self._changed:
            await self._changed.wait_for(lambda: not any(map(_is_busy, self.connections)))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = writer
        connection = ModelConnection()
        self.connections.append(connection)
        try:
            await self._converse(connection, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # they hung up, which `closed` shows
        finally:
            del self._serving[task]
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            connection.closed.set()
            await self._tell()

    async def _converse(
        self,
        connection: ModelConnection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        while (request := await read_request(reader)) is not None:
            self.requests.append(request)
            connection.begun += 1
            await self._tell()
            reply = self._reply(request)
            if isinstance(reply, WireAnswer):
                writer.write(whole(reply))
                await writer.drain()
            elif isinstance(reply, NoAnswer):
                await reader.read()
                return
            elif not await self._stream(reply, reader, writer):
                return
            connection.completed += 1
            await self._tell()

    def _reply(self, request: ReceivedRequest) -> Reply:
        if not self.wire.answers(request):
            return WireAnswer(404, "<html>404 Not Found</html>", {"content-type": "text/html"})
        script = self._scripts.popleft() if self._scripts else (Say("Hello!"),)
        if self.cache is not None:
            try:
                self.counts.append(self.cache.count(request.json))
            except TooManyMarksError as error:
                return self.wire.refuse(Refuse("api_error", str(error)))
            script = (*script, self.counts[-1])
        return plan(self.wire, script, request)

    async def _stream(
        self, reply: PlannedStream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Stream an answer. Return whether it was completed."""
        writer.write(head(200, {"content-type": self.wire.content_type}))
        for frame in reply.frames:
            match frame:
                case Cut(is_reset):
                    await writer.drain()
                    if is_reset:
                        reset(writer)
                    return False
                case Stall():
                    await reader.read()
                    return False
                case event:
                    await self._write(in_bytes(event), writer)
        writer.write(end_of_body())
        await writer.drain()
        return True

    async def _write(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        size = self._slice_bytes or len(data)
        for at in range(0, len(data), size):
            writer.write(piece(data[at : at + size]))
            await writer.drain()
            await asyncio.sleep(0)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _patience() -> asyncio.Timeout:
    """Return a timeout in wall seconds, even on a loop that runs faster."""
    return asyncio.timeout(WAIT_S * scale_of(asyncio.get_running_loop()))


def _is_busy(connection: ModelConnection) -> bool:
    return connection.begun > connection.completed and not connection.closed.is_set()
