"""Which tools the model gets: by server, channel and persona, with `/tools`; MCP servers too."""

from __future__ import annotations

import json
from typing import Any

from discord_stage.model_servers.scripts import Call
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR
from tests.e2e.bot_harness import BotHarness, BotScenario, run_lives, run_with_bot
from tests.e2e.test_tools import MCP, results

MINE: dict[str, Any] = {"tools": "tests.e2e.asking_tools"}


def call(name: str, **args: object) -> Call:
    return Call(name, json.dumps(args), "call_0")


async def tools(here: BotHarness, number: int, channel: str = "general") -> list[str]:
    """What the model is offered for the next question."""
    here.ask("hi", channel=channel)
    await here.asked_times(number)
    await here.wait_for(lambda: len(here.said(channel)) > 0)
    await here.idle()
    return here.asked().tools


async def tools_command(
    here: BotHarness, name: str, user: str = ADMIN, at: int | None = None, **options: object
) -> str:
    """Use `/tools`; `at` is its option `in`."""
    place = {} if at is None else {"in": at}
    return await here.run(f"tools {name}", {**options, **place}, user=user)


def run(scenario: BotScenario, *answers: Any, **given: Any) -> None:
    run_with_bot(scenario, *answers, **{**MINE, **given})


def test_a_tool_is_denied_and_allowed_again() -> None:
    async def scenario(here: BotHarness) -> None:
        assert {"look_outside", "react"} <= set(await tools(here, 1))
        told = await tools_command(here, "deny", tool="look_outside")
        assert told == "`look_outside` is not offered any more."
        assert "look_outside" not in await tools(here, 2)
        told = await tools_command(here, "allow", tool="look_outside")
        assert told == "`look_outside` is offered."
        assert "look_outside" in await tools(here, 3)
        assert await here.db.servers.config(here.server_id) == {"blocked_tools": []}

    run(scenario, *["Hm."] * 3)


def test_a_denied_tool_is_not_run_either() -> None:
    async def scenario(here: BotHarness) -> None:
        await tools_command(here, "deny", tool="look_outside")
        here.ask("how is the weather?")
        await here.says("I cannot see it.")
        assert results(here) == ["whoever asked may not use look_outside here"]

    run(scenario, [call("look_outside")], "I cannot see it.")


def test_only_in_one_channel() -> None:
    async def scenario(here: BotHarness) -> None:
        logs = here.id_of("logs")
        told = await tools_command(here, "deny", tool="built-in/*", at=logs)
        assert told == f"`built-in/*` is not offered any more in <#{logs}>."
        assert "react" in await tools(here, 1)
        assert set(await tools(here, 2, "logs")) == {"order_tea", "close_shop", "look_outside"}
        listed = await tools_command(here, "list", at=logs)
        assert "**built-in** (`built-in/*`)\nNot offered: " in listed
        assert "Offered: `order_tea`❓, `close_shop`❓, `look_outside`" in listed

    run(scenario, *["Hm."] * 2)


def test_a_persona_of_its_own_taste() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Mochi", triggers=("mochi",))
        told = await tools_command(here, "deny", tool="*", persona="mochi")
        assert told == "**Mochi** does not use `*` any more."
        assert "react" in await tools(here, 1)
        here.post("mochi, a word?")
        await here.asked_times(2)
        await here.idle()
        assert here.asked().tools == []
        listed = await tools_command(here, "list", persona="mochi")
        assert "Offered: `" not in listed
        told = await tools_command(here, "allow", tool="*", persona="mochi")
        assert told == "**Mochi** uses `*` where the channel has it."
        here.post("mochi, a word?")
        await here.asked_times(3)
        await here.idle()
        assert "react" in here.asked().tools
        set_ = {"name": "Mochi", "option": "allowed_tools", "value": "react, look_outside"}
        await here.run("persona set", set_, user=ADMIN)
        await tools_command(here, "deny", tool="look_outside")
        here.post("mochi, a word?")
        await here.asked_times(4)
        await here.idle()
        assert here.asked().tools == ["react"]

    run(scenario, *["Hm."] * 4)


def test_tools_of_an_mcp_server_are_switched_per_server() -> None:
    async def scenario(here: BotHarness) -> None:
        assert "add" in await tools(here, 1)
        await tools_command(here, "deny", tool="desk/*")
        offered = await tools(here, 2)
        assert "add" not in offered
        assert "react" in offered
        told = await tools_command(here, "allow", tool="add")
        assert told == "`add` is part of `desk/*`. Change that first."
        await tools_command(here, "allow", tool="desk/*", asks=True)
        assert "add" in await tools(here, 3)
        assert "`add`❓" in await tools_command(here, "list")

    run(scenario, *["Hm."] * 3, mcp_servers=MCP)


def test_what_the_operator_does_not_offer_no_server_can() -> None:
    async def scenario(here: BotHarness) -> None:
        told = await tools_command(here, "allow", tool="look_outside")
        assert "whoever runs the bot does not offer all of it" in told
        told = await tools_command(here, "allow", tool="order_tea", asks=False)
        assert told == "`order_tea` is offered, and asks a person before each use."
        await tools_command(here, "deny", tool="react")
        offered = await tools(here, 1)
        assert not {"look_outside", "react"} & set(offered)
        assert "order_tea" in offered

    given = {"blocked_tools": ["look_outside"], "asking_tools": ["order_tea"]}
    run(scenario, "Hm.", **given)


def test_a_list_of_the_only_tools_grows_with_allow() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.run("config set", {"key": "allowed_tools", "value": "react"}, user=ADMIN)
        assert await tools(here, 1) == ["react"]
        await tools_command(here, "allow", tool="look_outside")
        assert sorted(await tools(here, 2)) == ["look_outside", "react"]
        await tools_command(here, "allow", tool="*")
        assert "order_tea" in await tools(here, 3)

    run(scenario, *["Hm."] * 3)


def test_only_those_who_manage_the_server_choose() -> None:
    async def scenario(here: BotHarness) -> None:
        for user in (MEMBER, MODERATOR):
            for name in ("deny", "allow", "list"):
                more: dict[str, Any] = {} if name == "list" else {"tool": "react"}
                told = await tools_command(here, name, user, **more)
                assert "Only members with the permission Manage Server" in told
        assert await here.db.servers.config(here.server_id) == {}

    run(scenario)


def test_what_cannot_be() -> None:
    async def scenario(here: BotHarness) -> None:
        for tool in ("teleport", "desk/*", "**x** @everyone `" * 5):
            assert "There is no tool" in await tools_command(here, "deny", tool=tool)
        await here.persona("Mochi")
        told = await tools_command(here, "allow", tool="react", persona="mochi", asks=True)
        assert "same everywhere" in told
        told = await tools_command(here, "deny", tool="react", persona="nobody")
        assert "There is no persona" in told
        set_ = {"name": "Mochi", "option": "blocked_tools", "value": "what is this?"}
        assert "a list of tools" in await here.run("persona set", set_, user=ADMIN)

    run(scenario)


def test_it_is_known_after_a_restart() -> None:
    async def before(here: BotHarness) -> None:
        await tools_command(here, "deny", tool="*")

    async def after(here: BotHarness) -> None:
        assert await tools(here, 1) == []

    run_lives([before, after], "Hm.", **MINE)
