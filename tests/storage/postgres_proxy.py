"""A proxy before PostgreSQL. It can be cut around a COMMIT, and it can let a request wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

from sqlalchemy.engine import make_url

Cut = Literal["", "before the commit", "after the commit"]


class PostgresProxy:
    """`cut`: when the connection is lost, once. `at`: the request that waited last."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self.cut: Cut = ""
        self.cuts = 0
        self.at = ""
        self._left: int | None = None
        self._is_held = asyncio.Event()
        self._may_go_on = asyncio.Event()

    def hold(self, *, after: int) -> None:
        """Let one request wait: the one after `after` others."""
        self.at = ""
        self._left = after
        self._is_held.clear()
        self._may_go_on.clear()

    async def held(self) -> None:
        await self._is_held.wait()

    def go_on(self) -> None:
        self._left = None
        self._may_go_on.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(self._socket_path)
        answers = asyncio.create_task(_relay(server_reader, writer))
        try:
            await self._questions(reader, server_reader, server_writer, answers)
        finally:
            answers.cancel()
            for one in (writer, server_writer):
                one.close()

    async def _questions(
        self,
        reader: asyncio.StreamReader,
        server_reader: asyncio.StreamReader,
        server_writer: asyncio.StreamWriter,
        answers: asyncio.Task[None],
    ) -> None:
        with suppress(OSError):
            while said := await reader.read(65536):
                cut = self.cut if b"COMMIT" in said else ""
                if cut:
                    self.cut = ""
                    self.cuts += 1
                    answers.cancel()
                    await asyncio.wait({answers})
                if cut == "before the commit":
                    return
                await self._pass(said, server_writer)
                if cut == "after the commit":
                    await server_reader.read(1)
                    return

    async def _pass(self, said: bytes, server_writer: asyncio.StreamWriter) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self._left, self.at = None, repr(said[:60])
                self._is_held.set()
                await self._may_go_on.wait()
        server_writer.write(said)
        await server_writer.drain()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the server ends the connection; then the client's ends as well."""
    with suppress(OSError):
        while said := await reader.read(65536):
            writer.write(said)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def postgres_proxy(url: str) -> AsyncIterator[tuple[PostgresProxy, str]]:
    """The proxy, and the database's URL through it. The host of `url` is a socket's folder."""
    given = make_url(url)
    proxy = PostgresProxy(f"{given.query['host']}/.s.PGSQL.5432")
    server = await asyncio.start_server(proxy.serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    here = given.set(host="127.0.0.1", port=port, query={"ssl": "disable"})
    try:
        yield proxy, here.render_as_string(hide_password=False)
    finally:
        server.close()
