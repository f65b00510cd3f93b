"""Checks the tools that the settings name: imports the modules, starts or asks the MCP servers.

A module that cannot be used is an error, because the bot would not start. Without an MCP server the
bot starts, and only lacks its tools.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.errors import ConfigError
from oshaberi.terminal_output import counted

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings
    from oshaberi.bot.tools.definition import Tool
    from oshaberi.bot.tools.mcp import McpServer

PATIENCE_S = 10.0
MOST_NAMED = 8


async def examine(settings: LoadedSettings) -> AsyncIterator[Finding]:
    if settings.tools:
        for finding in _modules(settings):
            yield finding
    if settings.mcp_servers:
        for finding in await _servers(settings):
            yield finding


def _modules(settings: LoadedSettings) -> list[Finding]:
    from oshaberi.bot.tools.builtin import builtin_tools
    from oshaberi.bot.tools.toolbox import ToolBox, load_tools

    folder = settings.file.parent if settings.file else Path.cwd()
    found: list[Finding] = []
    together: list[Tool] = list(builtin_tools())
    for name in settings.tools:
        try:
            with redirect_stdout(sys.stderr):  # a module's own output is not a finding
                tools = load_tools([name], folder)
        except ConfigError as error:
            found.append(
                bad(
                    f"tools {name}",
                    _reason(error),
                    "correct the module, or `tools` in the settings",
                )
            )
        else:
            together += [tool for tool in tools if not any(tool is one for one in together)]
            found.append(good(f"tools {name}", _count(tools)))
    try:
        ToolBox(together)
    except ConfigError as error:
        found.append(bad("tools", _reason(error), "every tool needs a name of its own"))
    return found


async def _servers(settings: LoadedSettings) -> Sequence[Finding]:
    from importlib.util import find_spec

    from oshaberi.bot.tools.mcp import mcp_servers

    if find_spec("mcp") is None:
        return [bad("mcp servers", "need mcp", 'pip install "oshaberi[mcp]"')]
    try:
        servers = mcp_servers(settings.mcp_servers)
    except ConfigError as error:
        return [bad("mcp servers", str(error), "see: oshaberi settings mcp_servers")]
    return await asyncio.gather(*map(_server, servers))


async def _server(server: McpServer) -> Finding:
    """Start an MCP server as the bot does, but with a shorter time limit."""
    from oshaberi.bot.tools.mcp.connection import McpConnection

    connection = McpConnection(server, start_s=PATIENCE_S)
    running = asyncio.create_task(connection.run())
    try:
        await connection.wait_for_start()
        return _judge(server, connection.tools, connection.problem)
    finally:
        connection.stop()
        await asyncio.wait({running}, timeout=PATIENCE_S)
        running.cancel()


def _judge(server: McpServer, tools: Sequence[Tool], problem: str) -> Finding:
    name = f"mcp server {server.name}"
    if problem:
        place, do = ("url", "start") if server.url else ("command", "install")
        # An address may hold a key.
        why = problem.replace(server.url, "the url") if server.url else problem
        advice = f"{do} it, or correct mcp_servers.{server.name}.{place}"
        return bad(name, f"cannot be used: {why}", advice)
    if not tools:
        return note(name, "answers, but offers no tools")
    return good(name, _count(tools))


def _count(tools: Sequence[Tool]) -> str:
    names = [tool.name for tool in tools[:MOST_NAMED]]
    more = ["…"] if len(tools) > MOST_NAMED else []
    count = counted(len(tools), "tool")
    return f"{count}: {', '.join([*names, *more])}"


def _reason(error: ConfigError) -> str:
    return str(error).removeprefix("tools: ")
