"""An MCP server to plug in: a program that offers tools over its standard streams.

In oshaberi.toml:

    [mcp_servers.kettle]
    command = ".venv/bin/python"
    args = ["examples/mcp_server.py"]

It needs `pip install "oshaberi[mcp]"` in that Python, like the bot that uses it.
"""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("kettle")
TEMPERATURES = {"green": 80, "black": 95, "white": 75}


@server.tool()
def brewing_temperature(tea: str) -> str:
    """How hot the water should be for a kind of tea."""
    degrees = TEMPERATURES.get(tea.lower())
    if degrees is None:
        raise ToolError(f"unknown tea; known are {', '.join(TEMPERATURES)}")
    return f"{degrees} °C"


if __name__ == "__main__":
    server.run()
