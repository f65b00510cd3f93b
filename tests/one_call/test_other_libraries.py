"""The forks of discord.py, and hikari: each in a virtual environment of its own, on the stage.

They cannot be installed beside discord.py. Where they cannot be installed at all, the tests are
skipped, but not in CI.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from discord_stage import SEND, Fault, Stage

pytestmark = pytest.mark.slow

BOTS = Path(__file__).parent / "library_bots"
SOURCE = Path(__file__).parents[2] / "src"
LIBRARIES = {
    "disnake": ("disnake>=2.10,<3", "disnake", "fork_bot.py"),
    "nextcord": ("nextcord>=2.6,<4", "nextcord", "fork_bot.py"),
    "py-cord": ("py-cord>=2.6,<3", "discord", "fork_bot.py"),
    "hikari": ("hikari>=2.1,<3", "hikari", "hikari_bot.py"),
}
OURS = ("aiohttp", "click", "emoji", "regex")


@pytest.fixture(scope="module", params=LIBRARIES)
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How to start a bot of the library."""
    requirement, package, program = LIBRARIES[request.param]
    home = tmp_path_factory.mktemp(request.param)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", requirement, *OURS]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        told = f"{request.param} cannot be installed: {done.stderr.strip()[-300:]}"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return [python, str(BOTS / program), package]


@asynccontextmanager
async def on_stage(command: list[str]) -> AsyncIterator[Stage]:
    """Run the bot on a stage."""
    async with Stage() as stage:
        environ = {**os.environ, "PYTHONPATH": str(SOURCE)}
        bot = await asyncio.create_subprocess_exec(*command, stage.url, stage.token, env=environ)
        try:
            await stage.wait_for(lambda: stage.gateway.dispatched() > 0, timeout_s=60)
            await stage.settled()
            yield stage
        finally:
            bot.kill()
            await bot.wait()


async def _register(stage: Stage) -> None:
    """Register the command after the start: a library may remove those that it does not know."""
    url = f"{stage.url}/api/v10/applications/{stage.world.application.id}/commands"
    headers = {"Authorization": f"Bot {stage.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        ask = {"name": "ask", "description": "Ask", "type": 1}
        async with session.put(url, json=[ask]) as answer:
            assert answer.status == 200, await answer.text()


def test_it_delivers_through_another_library(command: list[str]) -> None:
    async def main() -> None:
        async with on_stage(command) as stage:
            people, world = stage.people, stage.world
            stage.fault(Fault(kind="status", route=SEND, status=502, call=2, after=True))
            asked = people.post("general", "hello", user="mika")
            await stage.wait_for(lambda: world.contents("general") == ["hello", "one", "two"])
            first, second = list(world.history(asked.channel_id))[1:]
            assert (first.reference or {})["message_id"] == str(asked.id)
            assert second.reference is None

            people.post("general", "channel", user="mika")
            await stage.wait_for(lambda: world.contents("general")[-2:] == ["three", "four"])
            people.post("general", "dm", user="mika")
            direct = world.dm_with(world.user("mika").id).id
            await stage.wait_for(lambda: world.contents(direct) == ["psst"])
            people.post("general", "fail", user="mika")
            await stage.wait_for(lambda: world.contents("general")[-2:] == ["one", "sorry"])

            await _register(stage)
            people.run("ask", channel="general", user="mika")
            there = world.messages[asked.channel_id].values()
            mika = world.user("mika").id
            await stage.wait_for(
                lambda: [m.content for m in there if m.ephemeral_to == mika] == ["five", "six"]
            )
            await stage.settled()
            assert world.contents("general").count("two") == 1

    asyncio.run(main())
