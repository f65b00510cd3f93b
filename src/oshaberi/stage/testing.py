"""Test your own bot on a stage.

    from oshaberi.stage.testing import on_stage

    def test_greets():
        async def play(stage, client):
            stage.people.post("general", "hello", user="mika")
            await stage.wait_for(lambda: "hi mika" in stage.world.contents("general"))

        on_stage(play, client=lambda: MyBot(intents=discord.Intents.all(), guild_ready_timeout=0.1))

`on_stage` starts a world, a stage and the client, waits until the client is ready, plays, closes
everything, and fails the test if the bot asked for anything that the stage does not have. For an
async test framework there are the two context managers `staged` and `logged_in`.

A world is described in a few lines (`World.described`); `stage.fault(Fault(...))` breaks
something; `stage.gateway.drop()` cuts the connection; `stage.settled()` waits until all is quiet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import discord

from oshaberi.stage.core import Settings
from oshaberi.stage.errors import StageTimeoutError
from oshaberi.stage.loop import run_scaled
from oshaberi.stage.pointing import patch_discord
from oshaberi.stage.server import Stage
from oshaberi.stage.world import World

C = TypeVar("C", bound=discord.Client)
READY_S = 10.0

__all__ = ["default_client", "logged_in", "on_stage", "patch_discord", "staged"]


def default_client() -> discord.Client:
    """A client with every intent that is ready soon after it is connected."""
    return discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.1)


@asynccontextmanager
async def staged(
    world: World | Mapping[str, object] | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[Stage]:
    """A stage that this process's discord.py talks to. Its problems are raised at the end."""
    async with Stage(world, settings) as stage:
        with patch_discord(stage.url):
            yield stage
    stage.check()


@asynccontextmanager
async def logged_in(stage: Stage, client: C) -> AsyncIterator[C]:
    """The client, connected and ready. Closed at the end, whatever happened."""
    async with client:
        await client.login(stage.token)
        running = asyncio.create_task(client.connect())
        try:
            await _ready(client, running)
            yield client
        finally:
            await client.close()
            running.cancel()
            with suppress(asyncio.CancelledError, discord.DiscordException):
                await running


async def _ready(client: discord.Client, running: asyncio.Task[None]) -> None:
    """Or raise what ended the client instead: a wrong token, an intent that is not granted."""
    ready = asyncio.create_task(client.wait_until_ready())
    try:
        await asyncio.wait({ready, running}, timeout=READY_S, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        if not ready.done():
            raise StageTimeoutError(f"the client was not ready within {READY_S} s")
    finally:
        ready.cancel()


def on_stage(
    play: Callable[[Stage, C], Awaitable[None]],
    *,
    client: Callable[[], C],
    world: World | Mapping[str, object] | None = None,
    settings: Settings | None = None,
    speed: float = 1.0,
) -> None:
    """Run a play from beginning to end, for a test function that is not async.

    With a `speed` the whole loop runs that many times faster, discord.py's own waits included.
    """

    async def main() -> None:
        async with staged(world, settings) as stage, logged_in(stage, client()) as bot:
            await play(stage, bot)

    run_scaled(main(), speed)
