"""A model on loopback that plays scripts: `async with ModelServer(wire) as server:`.

`server.play(...)` queues the next answer, `requests` are the received requests, `connections` show
which connections the client has closed. Nothing is timed; a stall lasts until the client
disconnects.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

from oshaberi.stage.model_servers.model_script import Cut, NoAnswer, Say, Script, Stall, Step
from oshaberi.stage.model_servers.raw_http import (
    end_of_body,
    head,
    piece,
    read_request,
    reset,
    whole,
)
from oshaberi.stage.model_servers.script_playback import PlannedStream, Reply, plan
from oshaberi.stage.model_servers.wire_format import ReceivedRequest, WireAnswer, WireFormat
from oshaberi.stage.scaled_loop import scale_of

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

    `slice_bytes` cuts its output into pieces of that size, at any byte.
    """

    def __init__(self, wire: WireFormat, *scripts: Sequence[Step], slice_bytes: int = 0) -> None:
        self.wire = wire
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
        """Wait until so many requests have arrived."""
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
            pass  # they hung up: that is what `closed` says
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
                case text:
                    await self._write(text.encode(), writer)
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
