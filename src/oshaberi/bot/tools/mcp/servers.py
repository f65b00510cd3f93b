"""All MCP servers of the bot together."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Iterable
from types import TracebackType

from oshaberi.bot.tools.definition import Tool
from oshaberi.bot.tools.mcp.connection import START_S, McpConnection
from oshaberi.bot.tools.mcp.settings import McpServer
from oshaberi.errors import ConfigError

log = logging.getLogger(__name__)

CLOSE_S = 10.0


class McpTools:
    """Starts all MCP servers together. If a server cannot be used, that is only logged."""

    def __init__(self, servers: Iterable[McpServer], *, start_s: float = START_S) -> None:
        self._servers = tuple(servers)
        self._start_s = start_s
        self._connections: list[McpConnection] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._parts: tuple[tuple[Tool, ...], ...] = ()
        self._tools: tuple[Tool, ...] = ()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Return the tools known now. The tuple is the same object until something changes."""
        parts = tuple(one.tools for one in self._connections)
        if parts != self._parts:
            self._parts = parts
            self._tools = tuple(tool for part in parts for tool in part)
        return self._tools

    async def __aenter__(self) -> McpTools:
        if self._servers:
            _check_installed()
        for server in self._servers:
            connection = McpConnection(server, start_s=self._start_s)
            self._connections.append(connection)
            self._tasks.append(asyncio.create_task(connection.run(), name=f"mcp {server.name}"))
        try:
            await asyncio.gather(*(one.wait_for_start() for one in self._connections))
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        """Let each task close what it opened. Cancel tasks that take too long."""
        for connection in self._connections:
            connection.stop()
        if not self._tasks:
            return
        try:
            _, late = await asyncio.wait(self._tasks, timeout=CLOSE_S)
        except asyncio.CancelledError:
            for task in self._tasks:
                task.cancel()
            raise
        for task in late:
            log.warning("%s does not end", task.get_name())
            task.cancel()


def _check_installed() -> None:
    if importlib.util.find_spec("mcp") is None:
        raise ConfigError("mcp_servers: the mcp package is missing; install oshaberi[mcp]")
