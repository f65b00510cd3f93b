"""Tests of a discord.py bot on the stage: no account, no token, no mocks.

cd examples && python -m pytest test_my_bot.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from my_bot import MyBot

from discord_stage import SEND, Fault, Stage

pytest_plugins = ["discord_stage.testing"]

Perform = Callable[[Callable[..., object]], None]


@pytest.fixture
def stage_client() -> Callable[[], MyBot]:
    return lambda: MyBot(guild_ready_timeout=0.1)


def test_it_greets_back(perform: Perform) -> None:
    async def play(stage: Stage, _bot: MyBot) -> None:
        stage.people.post("general", "Hello there", user="mika")
        await stage.wait_for(lambda: "hello mika!" in stage.world.contents("general"))

    perform(play)


def test_it_greets_once_though_discord_stumbles(perform: Perform) -> None:
    """The message is created, but the response is an error, so discord.py asks again."""

    async def play(stage: Stage, _bot: MyBot) -> None:
        stage.fault(Fault(kind="status", route=SEND, status=500, after=True))
        stage.people.post("general", "hello", user="ren")
        await stage.wait_for(lambda: len(stage.calls("POST /channels/*/messages")) == 2)
        await stage.settled()
        assert stage.world.contents("general") == ["hello", "hello ren!"]

    perform(play)


def test_it_counts(perform: Perform) -> None:
    async def play(stage: Stage, _bot: MyBot) -> None:
        stage.people.run("count", {"to": 3}, user="mika")
        await stage.wait_for(lambda: "1 2 3" in stage.world.contents("general"))

    perform(play)
