"""Connects to an MCP server: a child process or HTTP. The only module that imports `mcp`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from oshaberi.bot.tools.mcp.settings import McpServer
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, pieces_within
from oshaberi.secret_redaction import MARGIN

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.client.session import MessageHandlerFnT
    from mcp.client.subscriptions import Subscription


# The standard error of a server process is logged, and its last line is kept.


log = logging.getLogger(__name__)

_LONGEST_LINE = 500
_KEPT = 4 * (_LONGEST_LINE + MARGIN)
"""How many bytes of a line without an end are read. The rest is ignored."""


class ServerStderr(asyncio.Protocol):
    """What an MCP server writes to stderr. `last_line` often says why it did not start."""

    def __init__(self, name: str, redact: Callable[[str, int], str]) -> None:
        self.last_line = ""
        self._name = name
        self._redact = redact
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:_KEPT]
        for line in lines:
            self._line(line)

    def connection_lost(self, _error: Exception | None) -> None:
        self._line(self._rest)

    def _line(self, line: bytes) -> None:
        text = self._redact(line[:_KEPT].decode("utf-8", "replace"), _LONGEST_LINE).strip()
        if text:
            self.last_line = text
            log.debug("MCP server %s: %s", self._name, text)


@asynccontextmanager
async def listening(chatter: ServerStderr) -> AsyncIterator[TextIO]:
    """Yield a file that a child process can write to."""
    reading, writing = os.pipe()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(reading, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: chatter, pipe)
    try:
        with os.fdopen(writing, "w") as out:
            yield out
    finally:
        transport.close()


CONNECT_S = 30.0
READ_S = 660.0
"""How long a server may be silent: longer than any tool may take, since `ToolBox` has its own
timeout."""
LARGEST_EVENT = 4 * 1024 * 1024
"""The longest answer or event. The model gets much less of it."""
LONGEST_STREAM = 10**12


@asynccontextmanager
async def connect(
    server: McpServer,
    chatter: ServerStderr,
    on_message: MessageHandlerFnT,
    on_end: Callable[[], None],
) -> AsyncIterator[Client]:
    """Connect to the server and yield the client.

    `on_end` is called when a child process has ended.
    """
    from mcp.client import Client
    from mcp_types import Implementation

    from oshaberi import __version__

    async with AsyncExitStack() as stack:
        if server.url:
            transport = await _over_http(server, stack)
        else:
            transport = await _over_stdio(server, stack, chatter, on_end)
        client = Client(
            transport,
            message_handler=on_message,
            client_info=Implementation(name="oshaberi", version=__version__),
            cache=None,
        )
        yield await stack.enter_async_context(client)


@asynccontextmanager
async def listening_for_changes(client: Client, on_end: Callable[[], None]) -> AsyncIterator[None]:
    """Subscribe to changes. Newer servers report them only after a request, older ones always.

    `on_end` is called when the server stops reporting.
    """
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    tools = client.server_capabilities.tools
    asks = client.protocol_version in MODERN_PROTOCOL_VERSIONS
    if not (asks and tools is not None and tools.list_changed):
        yield
        return
    async with client.listen(tools_list_changed=True) as subscription:
        watching = asyncio.create_task(_until_the_end(subscription))
        watching.add_done_callback(lambda task: None if task.cancelled() else on_end())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait({watching})


async def _until_the_end(subscription: Subscription) -> None:
    """Wait for the end of a subscription. The message handler reads the changes."""
    from mcp.client.subscriptions import SubscriptionLost

    with suppress(SubscriptionLost):
        async for _change in subscription:
            pass


async def _over_http(server: McpServer, stack: AsyncExitStack) -> Any:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    http = await stack.enter_async_context(
        httpx2.AsyncClient(
            headers={**PLAIN, **server.headers},
            timeout=httpx2.Timeout(CONNECT_S, read=READ_S),
            event_hooks={"response": [_bound]},
        )
    )
    return streamable_http_client(server.url, http_client=http, max_sse_event_size=LARGEST_EVENT)


async def _bound(response: Any) -> None:
    """Limit the body of a response. A stream may go on for ever, but its events are limited."""
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, headers: Mapping[str, str], most_bytes: int) -> None:
            self._stream = stream
            self._pieces = pieces_within(stream, headers, most_bytes)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for piece in self._pieces:
                    yield piece
            except (BodyTooLargeError, PackedBodyError) as error:
                raise httpx2.StreamError(str(error)) from error

        async def aclose(self) -> None:
            await self._stream.aclose()

    is_stream = "text/event-stream" in response.headers.get("Content-Type", "")
    most_bytes = LONGEST_STREAM if is_stream else LARGEST_EVENT
    headers = {"Content-Encoding": response.headers.pop("Content-Encoding", "")}
    response.stream = BoundedStream(response.stream, headers, most_bytes)


async def _over_stdio(
    server: McpServer, stack: AsyncExitStack, chatter: ServerStderr, on_end: Callable[[], None]
) -> Any:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
    )
    errors = await stack.enter_async_context(listening(chatter))
    return _watch(stdio_client(parameters, errors), on_end)


@asynccontextmanager
async def _watch(transport: Any, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    """Pass everything on, and call `on_end` when the other side has closed."""
    import anyio

    async with transport as (reading, writing):
        send, receive = anyio.create_memory_object_stream[Any](0)

        async def pass_on() -> None:
            async with send:
                try:
                    async for message in reading:
                        await send.send(message)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return  # our own side is closing
                on_end()

        async with anyio.create_task_group() as group:
            group.start_soon(pass_on)
            yield receive, writing
            group.cancel_scope.cancel()
