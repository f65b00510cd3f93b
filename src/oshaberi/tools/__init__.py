"""Tools a model may call: functions of ours, functions of others, MCP servers."""

from oshaberi.tools.builtin import builtin_tools
from oshaberi.tools.mcp import McpServer, McpTools, mcp_servers
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import Tool, ToolContext, ToolDefinitionError, ToolFailedError
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
