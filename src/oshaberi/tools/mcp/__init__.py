"""Tools of MCP servers: `async with McpTools(servers) as mcp`, then `mcp.tools`."""

from oshaberi.tools.mcp.mcp_server_settings import McpServer, mcp_servers
from oshaberi.tools.mcp.mcp_tools import McpTools

__all__ = ["McpServer", "McpTools", "mcp_servers"]
