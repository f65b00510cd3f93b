"""Tools of MCP servers: `async with McpTools(servers) as mcp`, then `mcp.tools`.

`servers` holds one `connection` for each server in the `settings`. A connection opens one of the
`transports`, and reads tools and results (`content`).
"""

from oshaberi.bot.tools.mcp.servers import McpTools
from oshaberi.bot.tools.mcp.settings import McpServer, mcp_servers

__all__ = ["McpServer", "McpTools", "mcp_servers"]
