"""Lists of tools: what an entry stands for, and how lists change."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.tools import Tool, ToolContext, ToolDefinitionError, tool
from oshaberi.bot.tools.choice import ToolLists, approver_of, broader, is_chosen
from oshaberi.bot.tools.definition import Approver


async def _run(_context: ToolContext, _args: object) -> str:
    return ""


def of(source: str, asks: Approver | None = None) -> Tool:
    return Tool("it", "Does it.", {"type": "object"}, _run, source=source, asks=asks)


TOOLS = {"react": of("built-in"), "read": of("files"), "write": of("files")}


@pytest.mark.parametrize(
    ("allowed", "blocked", "chosen"),
    [
        ((), (), {"react", "read", "write"}),
        ((), ("write",), {"react", "read"}),
        ((), ("files/*",), {"react"}),
        ((), ("*",), set()),
        (("files/*",), (), {"read", "write"}),
        (("files/*",), ("write",), {"read"}),
        (("*",), ("built-in/*", "nonsense"), {"read", "write"}),
        (("file/*", "files", "/*"), (), set()),
    ],
)
def test_what_lists_choose(
    allowed: tuple[str, ...], blocked: tuple[str, ...], chosen: set[str]
) -> None:
    found = {name for name, one in TOOLS.items() if is_chosen(name, one.source, allowed, blocked)}
    assert found == chosen


def test_lists_change_without_growing_for_ever() -> None:
    lists = ToolLists()
    for _ in range(3):
        lists = lists.without_tool("write", TOOLS)
    assert lists.blocked == ("write",)
    lists = lists.without_tool("files/*", TOOLS)
    assert lists.blocked == ("files/*",)  # which stands for the other, too
    assert broader(lists.blocked, "write", TOOLS) == "files/*"
    assert broader(lists.blocked, "files/*", TOOLS) is None
    assert lists.with_tool("files/*", TOOLS).blocked == ()
    asking = lists.asking_for("read", TOOLS, asks=True)
    assert asking.asking == ("read",)
    assert asking.asking_for("files/*", TOOLS, asks=False).asking == ()
    only = ToolLists(allowed=("react",)).with_tool("read", TOOLS)
    assert only.allowed == ("react", "read")
    assert only.with_tool("read", TOOLS) == only
    assert only.with_tool("*", TOOLS) == ToolLists()


@pytest.mark.parametrize(
    ("of_tool", "setting", "found"),
    [
        (None, None, None),
        ("asker", None, "asker"),
        (None, "asker", "asker"),
        ("asker", "manage_server", "manage_server"),
        ("manage_server", "asker", "manage_server"),
        ("manage_messages", "manage_server", "manage_server"),
    ],
)
def test_the_fewest_people_decide(
    of_tool: Approver | None, setting: Approver | None, found: Approver | None
) -> None:
    turn = TurnConfig()
    if setting is not None:
        turn = TurnConfig(asking_tools=("files/*",), tool_approver=setting)
    assert approver_of("write", of("files", of_tool), turn) == found


def test_who_decides_is_checked_when_the_tool_is_made() -> None:
    wrong: Any = "me"
    with pytest.raises(ToolDefinitionError, match="asks 'me' is not one of"):

        @tool(asks=wrong)
        async def do() -> str:
            """Do something."""
            return ""
