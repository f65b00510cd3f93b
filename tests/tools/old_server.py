"""An MCP server of the older kind, by hand: no discovery, changes told to everybody, paged lists.

It also writes what is no JSON to its standard output, as careless servers do. `greedy`: it has more
tools than anybody can pay for, one of them with a schema without end.
"""

from __future__ import annotations

import json
import sys
from typing import Any

NO_ARGUMENTS = {"type": "object"}
tools: list[dict[str, Any]] = [
    {"name": "echo", "description": "Echo.", "inputSchema": NO_ARGUMENTS}
]
GREEDY = "greedy" in sys.argv
if GREEDY:
    endless = {"type": "object", "description": "x" * 1_000_000}
    tools = [{"name": "endless", "inputSchema": endless}]
    tools += [{"name": f"tool_{n}", "inputSchema": NO_ARGUMENTS} for n in range(300)]
UNKNOWN = {"code": -32601, "message": "Method not found"}


def write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def listed(params: dict[str, Any]) -> dict[str, Any]:
    at = int(params.get("cursor") or 0)
    after = len(tools) if GREEDY else at + 1
    page: dict[str, Any] = {"tools": tools[at:after]}
    return page | ({"nextCursor": str(after)} if after < len(tools) else {})


def called(params: dict[str, Any]) -> dict[str, Any]:
    if params["name"] == "echo":
        tools.append({"name": "later", "inputSchema": {"type": "object", "properties": {}}})
        write(method="notifications/tools/list_changed")
    resource = {"uri": "file:///a.bin", "mimeType": "x/y", "blob": "AAAA" * 1000}
    return {
        "content": [
            {"type": "text", "text": json.dumps(params.get("arguments", {}))},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}},
            {"type": "resource", "resource": resource},
            {"type": "resource_link", "name": "a link", "uri": "https://x.test/"},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA" * 3000},
        ]
    }


def answered(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "result": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "old", "version": "1"},
            }
        }
    if method == "tools/list":
        return {"result": listed(params)}
    if method == "tools/call" and params["name"] == "structured":
        return {"result": {"content": [], "structuredContent": {"a": ["ü"]}}}
    if method == "tools/call" and params["name"] == "nothing":
        return {"error": {"code": -32602, "message": "no such tool, api_key=abcdefghijkl"}}
    return {"result": called(params)} if method == "tools/call" else {"error": UNKNOWN}


def main() -> None:
    tools.extend({"name": name, "inputSchema": NO_ARGUMENTS} for name in ("structured", "nothing"))
    sys.stdout.write("Welcome to the old server!\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            write(id=message["id"], **answered(message["method"], message.get("params") or {}))


if __name__ == "__main__":
    main()
