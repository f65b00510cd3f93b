"""Lists an MCP server's tools, and converts its tools and results into ours."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oshaberi.bot.tools.definition import Tool, ToolContext, valid_name
from oshaberi.bot.tools.mcp.settings import McpServer

if TYPE_CHECKING:
    import mcp_types
    from mcp.client import Client


log = logging.getLogger(__name__)

MOST_PAGES = 50
MOST_TOOLS = 128
"""How many tools of one server are offered: as many as OpenAI's API takes in total."""
LONGEST_SCHEMA = 20_000
"""In characters. Every request pays for every declaration."""

Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]


async def list_tools(client: Client, server: McpServer, call: Call) -> tuple[Tool, ...]:
    """Return a server's tools within the limits. The log says how many were left out."""
    found: list[Tool] = []
    cursor: str | None = None
    for _page in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [_tool_of(one, server, call) for one in page.tools]
        cursor = page.next_cursor
        if not cursor:
            break
    kept = _within_limits(found)
    if len(kept) < len(found):
        out = len(found) - len(kept)
        log.warning("MCP server %s: too many or too long tools, left out: %d", server.name, out)
    return kept


def _tool_of(theirs: mcp_types.Tool, server: McpServer, call: Call) -> Tool:
    """Make a tool from one of the server's. `call` gets the name that the server uses."""

    async def run(_context: ToolContext, args: Mapping[str, Any]) -> str:
        return await call(theirs.name, args)

    return Tool(
        name=valid_name(theirs.name),
        description=theirs.description or theirs.title or theirs.name,
        parameters=_parameters(theirs.input_schema),
        run=run,
        permission=server.permission,
        asks=server.asks,
        timeout_ms=server.timeout_ms,
        source=server.name,
    )


def _within_limits(found: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return the tools within the limits on count and length."""
    return tuple(one for one in found if _is_short(one.parameters))[:MOST_TOOLS]


def _is_short(schema: Mapping[str, Any]) -> bool:
    try:
        return len(json.dumps(schema, ensure_ascii=False)) <= LONGEST_SCHEMA
    except (RecursionError, ValueError):
        return False  # nested too deeply, or in itself


def _parameters(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"properties": {}, **schema, "type": "object"}


def result_text(result: mcp_types.CallToolResult) -> str:
    """Return a result as text: text as it is, other content as a note, structured data as JSON."""
    text = "\n".join(filter(None, map(_block, result.content)))
    if not text and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return text


def _block(block: mcp_types.ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return (
                f"[{block.type}: {block.mime_type}, {_size(block.data)}; it cannot be shown here]"
            )
        case "resource_link":
            return f"[resource: {block.name}, {block.uri}]"
        case "resource":
            return _resource(block.resource)


def _resource(resource: Any) -> str:
    text = getattr(resource, "text", None)
    if text is not None:
        return str(text)
    kind = resource.mime_type or "unknown type"
    return f"[file: {resource.uri}, {kind}, {_size(resource.blob)}; it cannot be shown here]"


def _size(base64: str) -> str:
    return f"{max(1, len(base64) * 3 // 4 // 1024)} kB"
