"""Tools that a model may call: built in (`builtin`), your own functions, MCP servers (`mcp`).

- `tool_definition`: what a tool is; `tool_context`: for whom it runs, and what that person may do.
  `tool_decorator` makes one from a function, by
  `docstring_reading` and `type_hint_schema`; `tool_loading` loads those that the settings name.
- `toolbox` has all of them (`tool_names`), and decides which ones a turn may use.
- `tool_calls` runs them: `argument_checks`, the tool itself (`daemon_threads`), `tool_results`,
  without secrets (`oshaberi.secret_redaction`).
- `tool_text_plug_ins`: the plug-in point for text that tools write into the channel.
"""

from oshaberi.tools.builtin import builtin_tools
from oshaberi.tools.mcp import McpServer, McpTools, mcp_servers
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import Tool, ToolDefinitionError, ToolFailedError
from oshaberi.tools.tool_loading import load_tools
from oshaberi.tools.toolbox import ToolBox

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
