"""Tools that a model may call: built in (`builtin`), your own functions, MCP servers (`mcp`).

- `definition`: what a tool is, for whom it runs, and what that person may do; `decorator` makes
  one from a function.
- `toolbox` has all of them, and decides which ones a turn may use.
- `choice`: which of them a server, a channel and a persona use, and which ask first; `questions`:
  what waits for a person.
- `calls` runs them: the check of arguments, the tool itself (`daemon_threads`), its result
  without secrets (`oshaberi.secret_redaction`).
"""

from oshaberi.bot.tools.builtin import builtin_tools
from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import Tool, ToolContext, ToolDefinitionError, ToolFailedError
from oshaberi.bot.tools.mcp import McpServer, McpTools, mcp_servers
from oshaberi.bot.tools.toolbox import ToolBox, load_tools

__all__ = [
    "McpServer",
    "McpTools",
    "Tool",
    "ToolBox",
    "ToolContext",
    "ToolDefinitionError",
    "ToolFailedError",
    "builtin_tools",
    "load_tools",
    "mcp_servers",
    "tool",
]
