"""A real MCP server for the tests: `python mcp_server.py` speaks over its standard streams.

`--http PORT_FILE` serves on loopback instead, at `--port` or a free one, and writes the port there.
`--alive FILE` notes the process id, one line per start.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import time
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

server = MCPServer("tests", log_level="ERROR")
SECRET = "a-token-that-only-the-server-knows"


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def current_time() -> str:
    """Has the name of a built-in tool."""
    return "half past nine"


@server.tool(name="shout.loud/er")
def shout(text: str) -> str:
    """Has a name that no provider takes."""
    return text.upper()


@server.tool()
def whoami() -> str:
    """Tell the process."""
    return str(os.getpid())


@server.tool()
def environment() -> str:
    """Give everything away."""
    return "\n".join(f"{name}={value}" for name, value in sorted(os.environ.items()))


@server.tool()
def fail() -> str:
    """Never works."""
    raise ToolError(f"no luck with {os.environ.get('GIVEN_TOKEN', SECRET)}")


@server.tool(structured_output=False)
def picture() -> list[object]:
    """A text and an image."""
    return ["look:", Image(data=b"\x89PNG" + bytes(4000), format="png")]


@server.tool()
def huge(length: int) -> str:
    """As long as one likes."""
    return "x" * length


@server.tool()
async def hang() -> str:
    """Never answers, but the server goes on."""
    await asyncio.Event().wait()
    return ""


@server.tool()
async def freeze() -> str:
    """The whole server stops."""
    time.sleep(3600)
    return ""


@server.tool()
async def die() -> str:
    """Ends the process in mid-call."""
    os._exit(3)


@server.tool()
async def grow(ctx: Context) -> str:
    """One more tool from now on."""

    def late(text: str) -> str:
        """Came later."""
        return f"late: {text}"

    server.add_tool(late)
    await ctx.notify_tools_changed()
    return "grown"


async def serve_http(port_file: Path, port: int) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        config = uvicorn.Config(server.streamable_http_app(), log_level="error")
        port_file.with_suffix(".new").write_text(str(listener.getsockname()[1]))
        port_file.with_suffix(".new").replace(port_file)
        await uvicorn.Server(config).serve(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--alive", type=Path)
    parser.add_argument("--refuse", action="store_true")
    given = parser.parse_args()
    if given.alive is not None:
        with given.alive.open("a") as notes:
            notes.write(f"{os.getpid()}\n")
    if given.refuse:
        sys.stderr.write("there is no database\n")
        sys.exit(2)
    if given.http is not None:
        asyncio.run(serve_http(given.http, given.port))
    else:
        server.run()


if __name__ == "__main__":
    main()
