"""One MCP server: starts it, lists its tools, calls them, and restarts it if it has died.

One task opens and closes the connection, because the library's scopes must end in the task in which
they began. Calls may come from any task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from oshaberi.bot.tools.definition import Tool, ToolFailedError
from oshaberi.bot.tools.mcp.content import list_tools, result_text
from oshaberi.bot.tools.mcp.settings import McpServer
from oshaberi.bot.tools.mcp.transports import ServerStderr, connect, listening_for_changes
from oshaberi.clocks import loop_time_s
from oshaberi.secret_redaction import SecretValues
from oshaberi.terminal_output import counted

if TYPE_CHECKING:
    from mcp.client import Client


log = logging.getLogger(__name__)

START_S = 30.0
PROBE_S = 5.0
RETRY_S = 60.0
"""How long until a server that never started is tried again, even if no tool is called."""
LONGEST_ERROR = 2000
BACKOFF_S = (0.0, 1.0, 2.0, 5.0, 15.0, 60.0)


class McpConnection:
    """A connection to one MCP server.

    `run` is its task, `stop` ends it. `tools` are kept while the server is down.
    """

    def __init__(self, server: McpServer, *, start_s: float = START_S) -> None:
        self.tools: tuple[Tool, ...] = ()
        self._server = server
        self._start_s = start_s
        self._secrets = SecretValues(server.secrets)
        self._client: Client | None = None
        """The client, while the server can be used."""
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the running attempt to connect, or the next one, has succeeded or failed."""
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._stir = asyncio.Event()
        self._starting: asyncio.Task[None] | None = None
        """The current task, while it waits for the server to start."""
        self._closing = False
        self._tools_changed = False
        self._is_suspect = False
        self._failures = 0
        self._again_at = 0.0
        self._why = ""

    async def wait_for_start(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await asyncio.shield(self._settled)

    @property
    def problem(self) -> str:
        """Return why the server cannot be used; empty if it can."""
        return "" if self._client is not None else self._why or "it was shut down"

    def stop(self) -> None:
        self._closing = True
        self._wanted.set()
        self._stir.set()
        if self._starting is not None:
            self._starting.cancel()

    # -- calls, from any task --------------------------------------------------------------------

    async def call(self, name: str, args: Mapping[str, Any]) -> str:
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        client = await self._sound_client()
        try:
            result = await client.call_tool(name, dict(args))
        except asyncio.CancelledError:
            # It took too long, or nobody is waiting any more. Is the server still alive?
            self._is_suspect = True
            raise
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise ToolFailedError(
                    self._secrets.redacted(error.message, LONGEST_ERROR)
                ) from None
            raise self._broken(client, "it ended") from None
        except Exception as error:
            # Transports raise errors of several libraries, in groups; all mean the same here.
            raise self._broken(client, _reason(error)) from error
        self._failures = 0
        text = self._secrets.masked(result_text(result))
        if result.is_error:
            raise ToolFailedError(text or f"{name} failed and does not say why")
        return text

    def _broken(self, client: Client, why: str) -> ToolFailedError:
        why = self._secrets.redacted(why, LONGEST_ERROR)
        self._lose(client, why)
        return ToolFailedError(
            f"the MCP server {self._server.name} broke off ({why}); nobody knows whether the "
            "call was carried out"
        )

    async def _sound_client(self) -> Client:
        client = await self._running_client()
        if not self._is_suspect:
            return client
        try:
            async with asyncio.timeout(PROBE_S):
                await client.list_tools()
        except Exception as error:
            # Whatever the reason: a server that cannot even list its tools is of no use.
            self._lose(client, f"it hangs ({_reason(error)})")
            return await self._running_client()
        self._is_suspect = False
        return client

    async def _running_client(self) -> Client:
        if self._client is None and not self._closing:
            wait_s = self._again_at - loop_time_s()
            if wait_s > 0:
                raise self._down(f"; it may be asked again in {wait_s:.0f} s")
            self._wanted.set()
            await asyncio.shield(self._settled)
        if self._client is None:
            raise self._down("")
        return self._client

    def _down(self, when: str) -> ToolFailedError:
        return ToolFailedError(f"the MCP server {self._server.name} is down: {self.problem}{when}")

    # -- the task --------------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            while not self._closing:
                await self._until_wanted()
                if not self._closing:
                    await self._once()
        finally:
            self._closing = True
            self._client = None
            self._settle()

    async def _until_wanted(self) -> None:
        """Wait until a tool is called; at most RETRY_S if no tools are known after a failure."""
        patience_s = RETRY_S if self._failures and not self.tools else None
        try:
            async with asyncio.timeout(patience_s):
                await self._wanted.wait()
        except TimeoutError:
            pass
        self._wanted.clear()

    async def _once(self) -> None:
        """Connect, and serve until the connection ends."""
        chatter = ServerStderr(self._server.name, self._secrets.redacted)
        self._tools_changed = self._is_suspect = False
        client: Client | None = None
        try:
            async with AsyncExitStack() as stack:
                client = await self._start(stack, chatter)
                self._up(client)
                await self._serve(client)
        except (Exception, asyncio.CancelledError) as error:
            # A foreign program and three libraries are involved. Any error of theirs ends only this
            # connection.
            if _is_cancelled():
                raise
            why = self._describe(error, chatter)
            if client is None:
                self._start_failed(why)
            else:
                self._lose(client, why)

    async def _start(self, stack: AsyncExitStack, chatter: ServerStderr) -> Client:
        self._starting = asyncio.current_task()
        try:
            async with asyncio.timeout(self._start_s):
                client = await self._open(stack, chatter)
                self.tools = await list_tools(client, self._server, self.call)
        finally:
            self._starting = None
        return client

    async def _open(self, stack: AsyncExitStack, chatter: ServerStderr) -> Client:
        client = await stack.enter_async_context(
            connect(self._server, chatter, self._on_message, self._on_end)
        )
        await stack.enter_async_context(listening_for_changes(client, self._on_silence))
        return client

    async def _serve(self, client: Client) -> None:
        while self._client is client and not self._closing:
            await self._stir.wait()
            self._stir.clear()
            if self._tools_changed and self._client is client:
                self._tools_changed = False
                async with asyncio.timeout(self._start_s):
                    self.tools = await list_tools(client, self._server, self.call)

    # -- the end of a connection
    # ----------------------------------------------------------------------

    def _up(self, client: Client) -> None:
        self._client = client
        tools = counted(len(self.tools), "tool")
        log.info("MCP server %s: %s", self._server.name, tools)
        self._settle()

    def _start_failed(self, why: str) -> None:
        level = logging.DEBUG if self._failures else logging.WARNING
        log.log(level, "MCP server %s cannot be used: %s", self._server.name, why)
        self._note_failure(why)
        self._settle()
        self._settled = asyncio.get_running_loop().create_future()

    def _lose(self, client: Client, why: str, level: int = logging.WARNING) -> None:
        """Drop a lost connection, and log the loss once."""
        if self._client is not client:
            return
        self._client = None
        self._settled = asyncio.get_running_loop().create_future()
        if not self._closing:
            log.log(level, "MCP server %s is gone: %s", self._server.name, why)
            self._note_failure(why)
        self._stir.set()

    def _note_failure(self, why: str) -> None:
        self._why = why
        self._again_at = loop_time_s() + BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
        self._failures += 1

    def _settle(self) -> None:
        if not self._settled.done():
            self._settled.set_result(None)

    async def _on_message(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._tools_changed = True
            self._stir.set()

    def _on_end(self) -> None:
        if self._client is not None:
            self._lose(self._client, "it ended")

    def _on_silence(self) -> None:
        """Drop the connection if the server stops reporting changes. The next call reconnects."""
        if self._client is not None:
            self._lose(self._client, "it hung up", logging.INFO)

    def _describe(self, error: BaseException, chatter: ServerStderr) -> str:
        first = _first(error)
        late = isinstance(first, TimeoutError)
        why = f"no answer within {self._start_s:g} s" if late else _reason(first)
        last_words = f" (it says: {chatter.last_line})" if chatter.last_line else ""
        return self._secrets.redacted(f"{why}{last_words}", LONGEST_ERROR)


def _first(error: BaseException) -> BaseException:
    """Return the first error of a group: the others are mostly its consequences."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _reason(error: BaseException) -> str:
    first = _first(error)
    return " ".join(str(first).split())[:300] or type(first).__name__


def _is_cancelled() -> bool:
    """Return whether this task itself is being cancelled, rather than a scope inside it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
