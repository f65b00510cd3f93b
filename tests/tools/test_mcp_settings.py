"""An older server, and the settings of servers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from oshaberi.bot.tools import McpServer, McpTools, mcp_servers
from oshaberi.errors import ConfigError
from tests.tools.test_mcp import Servers, run, serving, until

OLD = str(Path(__file__).with_name("old_server.py"))


def test_an_older_server() -> None:
    async def main() -> None:
        server = McpServer("old", command=sys.executable, args=("-u", OLD))
        async with serving(server) as running:
            await _everyday(running)

    run(main())


def test_a_server_cannot_have_more_tools_than_a_request_can_carry(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What tools are declared with is paid for in every request."""

    async def main() -> None:
        server = McpServer("old", command=sys.executable, args=("-u", OLD, "greedy"))
        async with serving(server) as running:
            names = [one.name for one in running.mcp.tools]
            assert names == [f"tool_{number}" for number in range(128)]

    run(main())
    told = "MCP server old: too many or too long tools, left out: 175"
    assert told in [record.getMessage() for record in caplog.records]


async def _everyday(running: Servers) -> None:
    assert [one.name for one in running.mcp.tools] == ["echo", "structured", "nothing"]
    assert running.mcp.tools[1].description == "structured"
    assert (await running.told("echo", a=1)).split("\n") == [
        '{"a": 1}',
        "inside",
        "[file: file:///a.bin, x/y, 2 kB; it cannot be shown here]",
        "[resource: a link, https://x.test/]",
        "[audio: audio/wav, 8 kB; it cannot be shown here]",
    ]
    assert await running.told("structured") == '{"a": ["ü"]}'
    failed = await running.ask("nothing")
    assert (failed.content, failed.is_error) == ("no such tool, api_key=[secret]", True)
    await until(lambda: "later" in running.names)


def test_servers_from_the_settings() -> None:
    table = {"command": "npx", "args": ["-y", "thing"], "env": {"API_KEY": "x"}, "timeout_ms": 5}
    one, other = mcp_servers({"files": table, "web": {"url": "https://x.test/mcp"}})
    assert (one.name, one.command, one.args, one.timeout_ms) == ("files", "npx", ("-y", "thing"), 5)
    assert (other.name, other.url, other.permission) == ("web", "https://x.test/mcp", "everyone")
    assert "API_KEY" not in repr(one)


def test_servers_that_the_settings_have_read() -> None:
    from oshaberi.bot.config import McpServerEntry as Entry

    entries = {"files": Entry("npx", ("-y",), {"A": "x"}), "web": Entry(url="https://x.test/mcp")}
    one, other = mcp_servers(entries)
    assert (one.command, one.args, one.env, one.url) == ("npx", ("-y",), {"A": "x"}, "")
    assert (other.command, other.url) == ("", "https://x.test/mcp")


def test_what_is_secret_about_a_server() -> None:
    env = {"GITHUB_TOKEN": "in the environment", "LEVEL": "debug-and-more"}
    server = McpServer("x", env=env, headers={"Authorization": "Bearer abcdefgh"})
    assert server.secrets == ("in the environment", "Bearer abcdefgh")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MODE", "public"),
        ("LEVEL", "debug-and-more"),
        ("REGION", "us-east-1"),
        ("LANG", "en_US.UTF-8"),
        ("ROOT", "/srv/files"),
        ("API_URL", "https://api.example.com:8443/v1/items"),
        ("PORT", "808080"),
        ("Accept", "application/json"),
        ("Accept", "text/event-stream"),
        ("AUTHOR", "somebody"),
    ],
)
def test_an_ordinary_word_is_no_secret(name: str, value: str) -> None:
    assert McpServer("x", env={name: value}).secrets == ()
    assert McpServer("x", headers={name: value}).secrets == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_KEY", "public"),
        ("PASSPHRASE", "correct-horse"),
        ("X-Session", "sesame"),
        ("Cookie", "chocolate"),
        ("THING", "9f86d081884c7d65"),
        ("THING", "Tr0ub4dor"),
        ("THING", "correcthorsebatterystaple"),
        ("THING", "two words"),
        ("DSN", "postgres://mika:hunter@db/x"),
        ("HOOK", "https://hooks.example.com/services/T0AB12/B3CD45"),
        ("HOOK", "https://example.com/?sig=abcdef"),
        ("Authorization", "Bearer abcdefgh"),
    ],
)
def test_what_may_be_a_secret_is_one(name: str, value: str) -> None:
    assert McpServer("x", env={name: value}).secrets == (value,)
    assert McpServer("x", headers={name: value}).secrets == (value,)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "mcp_servers.x: needs either a command or a url"),
        ({"command": "a", "url": "http://x"}, "mcp_servers.x: needs either a command or a url"),
        ({"comand": "a"}, "mcp_servers.x.comand: no such key; known are command, args, env,"),
        ({"command": ["a"]}, "mcp_servers.x.command: is not a text"),
        ({"command": "a", "args": "-y"}, "mcp_servers.x.args: is not a list of texts"),
        ({"command": "a", "env": {"A": 1}}, "mcp_servers.x.env: is not a table of texts"),
        ({"url": "ftp://x"}, "mcp_servers.x.url: is not an http or https address"),
        ({"url": "http://x", "permission": "all"}, "mcp_servers.x.permission: is not one of: ev"),
        ({"url": "http://x", "timeout_ms": True}, "mcp_servers.x.timeout_ms: is not a whole numb"),
    ],
)
def test_wrong_settings(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        mcp_servers({"x": table})
    assert str(caught.value).startswith(words)


def test_without_servers_there_is_nothing_to_do() -> None:
    async def main() -> None:
        async with McpTools(()) as mcp:
            assert mcp.tools == ()
            assert mcp.tools is mcp.tools
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
