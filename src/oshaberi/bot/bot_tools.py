"""Opens the tools of a bot: built-in tools, the operator's own modules, MCP servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from oshaberi.config import LoadedSettings
from oshaberi.tools.builtin import builtin_tools
from oshaberi.tools.tool_loading import load_tools
from oshaberi.tools.toolbox import ToolBox


@asynccontextmanager
async def open_tools(settings: LoadedSettings, secrets: Iterable[str]) -> AsyncIterator[ToolBox]:
    """Open all tools of the bot. MCP servers run until the end of the block."""
    folder = settings.file.parent if settings.file else Path.cwd()
    tools = (*builtin_tools(), *load_tools(settings.tools, folder))
    if not settings.mcp_servers:
        yield ToolBox(tools, secrets=secrets)
        return
    from oshaberi.tools.mcp import McpTools, mcp_servers

    async with McpTools(mcp_servers(settings.mcp_servers)) as mcp:
        yield ToolBox(tools, more=lambda: mcp.tools, secrets=secrets)
