"""Tools of MCP servers: `async with McpTools(servers) as mcp`, then `mcp.tools`.

`mcp_tools` holds one `mcp_connection` for each server in the settings (`mcp_server_settings`). A
connection opens one of the `mcp_transports`, reads tools and results (`mcp_content`), and logs what
the server writes (`server_stderr`).
"""

from oshaberi.tools.mcp.mcp_server_settings import McpServer, mcp_servers
from oshaberi.tools.mcp.mcp_tools import McpTools

__all__ = ["McpServer", "McpTools", "mcp_servers"]
