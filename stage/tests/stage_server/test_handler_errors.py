"""An exception in a bot's handler fails a stage test, wherever discord.py would only log it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import discord
import pytest
from discord import app_commands
from discord.ext import commands

from discord_stage import Stage, StageProblemsError
from discord_stage.testing import on_stage


class RaisingBot(commands.Bot):
    """Raises wherever it can."""

    def __init__(self) -> None:
        super().__init__("!", intents=discord.Intents.all(), guild_ready_timeout=0.02)
        self.add_command(commands.Command(_raises, name="fail"))
        self.tree.add_command(
            app_commands.Command(name="fail", description="Fails", callback=_raises_slash)
        )

    async def setup_hook(self) -> None:
        await self.tree.sync()


async def _raises(_context: commands.Context[Any]) -> None:
    raise ValueError("in a command")


async def _raises_slash(_interaction: discord.Interaction) -> None:
    raise ValueError("in a slash command")


class FailingButton(discord.ui.Button[Any]):
    async def callback(self, _interaction: discord.Interaction) -> None:
        raise ValueError("in a button")


async def event(stage: Stage, client: RaisingBot) -> None:
    async def on_message(_message: discord.Message) -> None:
        raise ValueError("in an event")

    client.event(on_message)
    stage.people.post("general", "hi")


async def command(stage: Stage, _client: RaisingBot) -> None:
    stage.people.post("general", "!fail")


async def slash_command(stage: Stage, _client: RaisingBot) -> None:
    stage.people.run("fail")


async def button(stage: Stage, client: RaisingBot) -> None:
    view = discord.ui.View()
    view.add_item(FailingButton(label="Fail"))
    channel = client.get_channel(stage.world.channel("general").id)
    assert isinstance(channel, discord.TextChannel)
    message = await channel.send("x", view=view)
    stage.people.press(message.id, "Fail")


@pytest.mark.parametrize("play", [event, command, slash_command, button])
def test_it_fails_the_test(play: Callable[[Stage, RaisingBot], Awaitable[None]]) -> None:
    async def whole(stage: Stage, client: RaisingBot) -> None:
        await play(stage, client)
        await stage.wait_for(lambda: stage.problems)

    with pytest.raises(StageProblemsError, match="ValueError: in a"):
        on_stage(whole, client=RaisingBot)


def test_a_wrong_command_of_a_person_does_not() -> None:
    async def play(stage: Stage, _client: RaisingBot) -> None:
        stage.people.post("general", "!nonsense")
        await stage.settled()

    on_stage(play, client=RaisingBot)


def test_a_test_that_wants_one_clears_the_list() -> None:
    async def play(stage: Stage, client: RaisingBot) -> None:
        await event(stage, client)
        await stage.wait_for(lambda: stage.problems)
        stage.problems.clear()

    on_stage(play, client=RaisingBot)
