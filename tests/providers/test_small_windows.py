"""A window that has no room for what is never left out: the tools go first, then it is said."""

from __future__ import annotations

from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import Refuse, Say
from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import (
    Request,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from tests.providers.adapter_runs import error, read, run, text
from tests.providers.provider_families import FAMILIES, Family, having

SYSTEM = said("system", "word " * 600, "system")
ASKED = said("user", "hi", "current")
TOOLS = tuple(ToolDeclaration(f"tool_{n}", "does a thing " * 20) for n in range(10))
DONE = ToolRound((ToolCall("tool_1", {}, "call_1"),), (ToolResult("six"),))


@having("calls")
def test_tools_without_room_are_left_out(family: Family) -> None:
    async def scenario(adapter: Any, server: ModelServer) -> None:
        found = await read(adapter, Request((SYSTEM, ASKED, DONE), TOOLS))
        assert text(found) == "Hello!"
        sent = server.requests[-1].body.decode()
        assert "does a thing" not in sent
        assert "six" in sent, "what a tool said stays, as text"
        told = adapter.endpoint.learned.told(adapter.endpoint.place)
        assert told == ("its window of 1500 tokens has no room for the tools, which are left out",)
        await read(adapter, Request((said("system", "short", "system"), ASKED), TOOLS[:2]))
        assert "does a thing" in server.requests[-1].body.decode()

    run(family, scenario, window=1500)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_request_that_can_never_fit_is_not_sent(family: Family) -> None:
    async def scenario(adapter: Any, server: ModelServer) -> None:
        problem = error(await read(adapter, Request((SYSTEM, ASKED))))
        assert server.requests == []
        assert problem.type == "context_length"
        assert problem.shown == problem.message
        assert "`window` (400) is too small" in problem.message
        assert "about 10" in problem.message

    run(family, scenario, window=400)


def test_a_refusal_says_which_number_is_too_small() -> None:
    family = FAMILIES[0]

    async def scenario(adapter: Any, _server: ModelServer) -> None:
        problem = error(await read(adapter, Request((SYSTEM, ASKED))))
        assert problem.type == "context_length"
        assert "`window` (900) is too small" in problem.message

    run(family, scenario, (Refuse("context_length"),), (Say("never"),), window=900)
