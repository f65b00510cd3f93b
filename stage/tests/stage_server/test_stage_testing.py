"""What others test their bots with must itself be reliable."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import discord
import pytest

from discord_stage import (
    Fault,
    Settings,
    Stage,
    StageError,
    StageProblemsError,
    StageTimeoutError,
    World,
)
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import default_client, logged_in, on_stage, patch_discord, staged
from stage_server.listening_client import FAST, ListeningClient, run_on_stage


def test_an_unknown_route_is_404_and_fails_the_test_at_its_end() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        with pytest.raises(discord.NotFound):
            await bot.http.request(discord.http.Route("GET", "/guilds/1/nonsense"))
        assert stage.state.request_log.problems == ["unknown route: GET /guilds/1/nonsense"]

    with pytest.raises(StageProblemsError, match="unknown route: GET /guilds/1/nonsense"):
        run_on_stage(scenario)


def test_a_defect_of_the_stage_fails_the_test_at_its_end() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        del stage.world.users[stage.world.user("mika").id]
        with pytest.raises(discord.DiscordServerError):
            await bot.application_info()

    with pytest.raises(StageProblemsError, match="KeyError"):
        run_on_stage(scenario, speed=50.0)


def test_the_patch_is_taken_back_and_never_laid_twice() -> None:
    before = discord.http.Route.BASE
    with patch_discord("http://127.0.0.1:1"):
        assert discord.http.Route.BASE == "http://127.0.0.1:1/api/v10"
        with pytest.raises(StageError, match="already points at"), patch_discord("http://x:2"):
            pass
    assert before == discord.http.Route.BASE
    assert discord.asset.Asset.BASE.startswith("https://")
    assert str(discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY).startswith("wss://")


def test_waiting_in_vain_tells_what_happened_instead() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        await bot.place().send("x")
        with pytest.raises(StageTimeoutError, match=r"POST /channels/\d+/messages → 200"):
            await stage.wait_for(lambda: False, timeout_s=0.05)

    run_on_stage(scenario)


def test_waiting_returns_what_was_found() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        sending = asyncio.create_task(bot.place().send("x"))
        assert await stage.wait_for(lambda: stage.world.contents("general")) == ["x"]
        await sending

    run_on_stage(scenario)


def test_settled_waits_for_a_whole_chain_of_answers() -> None:
    class Chain(ListeningClient):
        async def on_message(self, message: discord.Message) -> None:
            if int(message.content) < 4:
                await message.channel.send(str(int(message.content) + 1))

    async def scenario(stage: Stage, _bot: ListeningClient) -> None:
        stage.people.post("general", "0")
        await stage.settled()
        assert stage.world.contents("general") == ["0", "1", "2", "3", "4"]

    run_on_stage(scenario, client=Chain)


def test_a_handler_gets_its_answer_before_the_client_is_closed() -> None:
    answered: list[str] = []

    class Greeter(ListeningClient):
        async def on_message(self, message: discord.Message) -> None:
            if message.content == "hello":
                answered.append((await message.channel.send("hi")).content)

    async def scenario(stage: Stage, _bot: ListeningClient) -> None:
        stage.fault(Fault(kind="delay", delay_s=30.0, after=True))
        stage.people.post("general", "hello")
        await stage.wait_for(lambda: "hi" in stage.world.contents("general"))
        assert answered == []

    run_on_stage(scenario, client=Greeter, settings=Settings(), speed=100.0)
    assert answered == ["hi"]


def test_an_answer_that_never_comes_does_not_keep_the_client_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("discord_stage.client_runner.ANSWERED_S", 0.05)

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="delay", delay_s=3600))
        asking.append(asyncio.create_task(bot.place().send("x")))
        await stage.wait_for(lambda: stage.state.request_log.running)

    asking: list[asyncio.Task[discord.Message]] = []
    run_on_stage(scenario, settings=Settings(), speed=50.0)
    assert asking[0].done()


def test_a_client_that_cannot_log_in_says_why() -> None:
    async def main() -> None:
        world = World.described()
        async with staged(world, FAST) as stage:
            world.application.token = "changed"
            with pytest.raises(discord.LoginFailure):
                async with logged_in(stage, _Wrong()):
                    pass

    class _Wrong(ListeningClient):
        async def login(self, token: str) -> None:
            await super().login(token + "x")

    asyncio.run(main())


def test_the_simplest_test_of_all() -> None:
    async def scenario(stage: Stage, client: discord.Client) -> None:
        assert client.user is not None
        assert client.user.id == stage.world.bot.id

    on_stage(scenario, client=default_client)


def test_a_scaled_loop_sleeps_less() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.sleep(600)
        return loop.time() - before

    started = time.monotonic()
    slept = run_scaled(main(), 6000.0)
    assert slept >= 600
    assert time.monotonic() - started < 300


def test_time_that_does_not_pass_is_refused() -> None:
    with pytest.raises(StageError, match="time_scale: 0 is not above 0"):
        Settings(time_scale=0)
    with pytest.raises(StageError, match="speed: -1 is not above 0"):
        on_stage(lambda _stage, _bot: asyncio.sleep(0), client=default_client, speed=-1)


def test_two_stages_have_nothing_in_common() -> None:
    async def main() -> None:
        async with Stage() as one, Stage() as two:
            assert one.url != two.url
            assert one.token != two.token
            assert one.control_token != two.control_token
            one.people.post("general", "here")
            assert two.world.contents("general") == []

    asyncio.run(main())


CONFTEST = """
import discord, pytest
pytest_plugins = ["discord_stage.testing"]

class Greeter(discord.Client):
    async def on_message(self, message):
        if message.author != self.user:
            await message.channel.send(f"hi {message.author.name}")

@pytest.fixture
def stage_client():
    return lambda: Greeter(intents=discord.Intents.all(), guild_ready_timeout=0.1)
"""
TESTS = """
def test_greets(perform):
    async def play(stage, bot):
        stage.people.post("general", "hello", user="mika")
        await stage.wait_for(lambda: "hi mika" in stage.world.contents("general"))
    perform(play)

def test_asks_too_much(perform):
    async def play(stage, bot):
        try:
            await bot.guilds[0].vanity_invite()
        except Exception:
            pass
    perform(play)
"""


def test_somebody_elses_tests_with_our_fixtures(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_bot.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    bare = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(
        command, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout
    assert "StageProblemsError: missing route: GET /guilds/{guild_id}/vanity-url" in ran.stdout
