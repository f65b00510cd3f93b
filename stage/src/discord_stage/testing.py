"""Test your own bot on a stage.

    pytest_plugins = ["discord_stage.testing"]      # in conftest.py

    @pytest.fixture
    def stage_client():
        return lambda: MyBot(intents=discord.Intents.all(), guild_ready_timeout=0.1)

    def test_greets(perform):
        async def play(stage, bot):
            stage.people.post("general", "hello", user="mika")
            await stage.wait_for(lambda: "hi mika" in stage.world.contents("general"))

        perform(play)

`perform` starts a world, a stage and the client, waits until the client is ready, plays, closes
everything, and fails the test if the bot asked for anything that the stage does not have, or if one
of its handlers raised an exception that nobody handled (`stage.problems`; a test that expects one
clears the list). Override the fixtures `stage_world`, `stage_settings` and `stage_client` to
change what it starts. `on_stage` is the same as a plain function; `staged` and `logged_in` are its
two halves, for an async framework.

A world is described in a few lines (`World.described`); `stage.fault(Fault(...))` breaks
something; `stage.gateway.drop()` cuts the connection; `stage.settled()` waits until all is quiet.
"""

from __future__ import annotations

from contextlib import suppress

from discord_stage.client_runner import default_client, logged_in, on_stage, staged
from discord_stage.discord_py_redirect import patch_discord

with suppress(ModuleNotFoundError):  # the functions also work without pytest
    from discord_stage.pytest_fixtures import perform, stage_client, stage_settings, stage_world

__all__ = [
    "default_client",
    "logged_in",
    "on_stage",
    "patch_discord",
    "perform",
    "stage_client",
    "stage_settings",
    "stage_world",
    "staged",
]
