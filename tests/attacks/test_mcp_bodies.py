"""Answers of an MCP server over HTTP that have no end, or grow when they are unpacked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from oshaberi.bot.tools import McpServer
from oshaberi.bot.tools.mcp.transports import LARGEST_EVENT, _bound
from tests.attacks.flood_server import Flood, flooding, times, zipped
from tests.attacks.loop_watch import memory_at_most, watched_loop
from tests.tools.test_mcp import over_http, serving

JSON = ("content-type: application/json",)
BODIES = {
    "plain": lambda: Flood(times(100, b"x" * 999), 200, JSON),
    "gzip": lambda: Flood([zipped(100, b"x" * 999)], 200, (*JSON, "content-encoding: gzip")),
    "brotli": lambda: Flood([b"\x0b\x02\x80"], 200, (*JSON, "content-encoding: br")),
}


@pytest.mark.parametrize("shape", BODIES)
def test_a_body_is_bounded(shape: str) -> None:
    with flooding(BODIES[shape]()) as server:

        async def main() -> None:
            async with httpx2.AsyncClient(event_hooks={"response": [_bound]}) as client:
                with watched_loop(), pytest.raises(httpx2.StreamError):
                    await asyncio.create_task(client.get(server.url))
                with memory_at_most(3 * LARGEST_EVENT / 1e6), pytest.raises(httpx2.StreamError):
                    await client.get(server.url)

        asyncio.run(main())


def test_a_long_answer_fails_the_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with over_http(tmp_path) as (url, _child), serving(McpServer("far", url=url)) as far:
            result = await far.ask("huge", length=4 * LARGEST_EVENT)
            assert result.is_error
            assert await far.told("add", a=2, b=3) == "5"

    asyncio.run(main())
