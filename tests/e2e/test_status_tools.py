"""The tools of a server, switched with requests to the status page of a whole bot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from oshaberi.bot.storage.changes import StoredChange
from tests.bot.test_status_page import TOKEN, Visitor, sent
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.e2e.test_tool_choice import tools, tools_command
from tests.free_ports import free_port

PORT = free_port()
PAGE: dict[str, Any] = {"health_port": PORT, "status_token": TOKEN}


@asynccontextmanager
async def logged_in(port: int = PORT) -> AsyncIterator[Visitor]:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        visitor = Visitor(session, f"http://127.0.0.1:{port}", [])
        await visitor.post("/login", TOKEN)
        yield visitor


async def switch(
    visitor: Visitor, here: BotHarness, tool: str, *, offer: bool, server_id: int | None = None
) -> tuple[int, str]:
    server_id = here.server_id if server_id is None else server_id
    answer = await visitor.get(f"/tools.json?server={here.server_id}")
    token = (await answer.json())["csrf_token"]
    body = sent(server=str(server_id), tool=tool, offer=offer)
    return await visitor.switch(body, X_CSRF_Token=token)


async def shown(visitor: Visitor, here: BotHarness) -> dict[str, dict[str, Any]]:
    answer = await visitor.get(f"/tools.json?server={here.server_id}")
    return {one["name"]: one for one in (await answer.json())["tools"]}


def test_it_is_stored_as_the_command_stores_it() -> None:
    async def scenario(here: BotHarness) -> None:
        async with logged_in() as visitor:
            told = await switch(visitor, here, "react", offer=False)
            assert told == (200, "`react` is not offered any more.")
            assert await here.db.servers.config(here.server_id) == {"blocked_tools": ["react"]}
            assert "react" not in await tools(here, 1)
            assert "Not offered: `react`" in await tools_command(here, "list")
            await tools_command(here, "allow", tool="react")
            assert (await shown(visitor, here))["react"]["offered"]
            assert "react" in await tools(here, 2)

    run_with_bot(scenario, *["Hm."] * 2, **PAGE)


def test_other_processes_are_told_as_by_the_command() -> None:
    async def scenario(here: BotHarness) -> None:
        told: list[StoredChange] = []
        here.db.changes.on_change = told.append
        async with logged_in() as visitor:
            await switch(visitor, here, "react", offer=False)
            of_page = tuple(told)
            told.clear()
            await tools_command(here, "allow", tool="react")
            assert of_page == tuple(told) == (StoredChange("settings", here.server_id),)

    run_with_bot(scenario, **PAGE)


def test_two_switches_at_once_are_both_stored() -> None:
    async def scenario(here: BotHarness) -> None:
        async with logged_in() as visitor:
            names = ("react", "user_info", "server_info", "stay_silent")
            work = (switch(visitor, here, name, offer=False) for name in names)
            assert {status for status, _ in await asyncio.gather(*work)} == {200}
            stored = await here.db.servers.config(here.server_id)
            assert set(stored["blocked_tools"]) == set(names)

    run_with_bot(scenario, **PAGE)


def test_what_the_settings_block_stays_blocked() -> None:
    async def scenario(here: BotHarness) -> None:
        async with logged_in() as visitor:
            told = await switch(visitor, here, "react", offer=True)
            unlocked = "`react`: allowed, but whoever runs the bot does not offer all of it."
            assert told == (200, unlocked)
            row = (await shown(visitor, here))["react"]
            assert (row["offered"], row["by_you"]) == (False, False)
            assert "react" not in await tools(here, 1)
            await switch(visitor, here, "*", offer=False)
            await switch(visitor, here, "*", offer=True)
            assert "react" not in await tools(here, 2)

    run_with_bot(scenario, *["Hm."] * 2, blocked_tools=["react"], **PAGE)


def test_unknown_tools_and_servers_change_nothing() -> None:
    async def scenario(here: BotHarness) -> None:
        async with logged_in() as visitor:
            for tool in ("", "no_such", "`react`", " react", "nowhere/*", "Mochi"):
                told = await switch(visitor, here, tool, offer=False)
                assert told == (404, "There is no tool of this name.")
            for server_id in (0, 1, here.server_id + 1):
                told = await switch(visitor, here, "react", offer=False, server_id=server_id)
                assert told == (404, "This process is in no such server.")
            assert await here.db.servers.config(here.server_id) == {}
            assert await here.db.servers.config(0) == {}

    run_with_bot(scenario, **PAGE)


def test_one_tool_is_not_taken_out_of_many() -> None:
    """The page is told which entry to switch instead."""

    async def scenario(here: BotHarness) -> None:
        async with logged_in() as visitor:
            for wider in ("built-in/*", "*"):
                await tools_command(here, "deny", tool=wider)
                told = await switch(visitor, here, "react", offer=True)
                assert told == (409, "`react` is part of `built-in/*`. Change that first.")
                assert (await shown(visitor, here))["react"]["switch"] == wider
            assert (await switch(visitor, here, "*", offer=True))[0] == 200
            assert (await shown(visitor, here))["react"]["offered"]

    run_with_bot(scenario, **PAGE)
