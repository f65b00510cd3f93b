"""A line to Redis that can be cut and mended, for what happens when Redis goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


class RedisProxy:
    """Passes bytes on, between a port of its own and the socket of a Redis."""

    def __init__(self, target: str) -> None:
        self._target = target.removeprefix("unix://")
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._pipes: set[asyncio.Task[None]] = set()
        self._port = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Nobody is there any more, and who was connected notices."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self.drop()

    async def drop(self) -> None:
        """Every connection ends; new ones are taken, unless the line is cut."""
        for writer in tuple(self._writers):
            writer.transport.abort()
        while self._pipes:
            await asyncio.wait(set(self._pipes))

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._begin(self._connect(reader, writer))

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self._target)
        self._writers.add(back)
        self._begin(self._pipe(reader, back))
        self._begin(self._pipe(there, writer))
        if writer.is_closing():  # the line was cut meanwhile
            back.transport.abort()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._pipes.add(task)
        task.add_done_callback(self._pipes.discard)

    async def _pipe(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while read := await source.read(65_536):
                target.write(read)
                await target.drain()
        target.transport.abort()
        self._writers.discard(target)


@asynccontextmanager
async def redis_proxy(url: str) -> AsyncIterator[RedisProxy]:
    line = RedisProxy(url)
    await line.mend()
    try:
        yield line
    finally:
        await line.cut()
