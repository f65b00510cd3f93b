"""A shard is ready when the servers are there that READY named, not a fixed time later."""

from __future__ import annotations

import asyncio
from typing import cast

import discord
import pytest

from discord_stage import Settings
from discord_stage.client_runner import logged_in
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import staged
from oshaberi.bot.client.discord_client import intents
from oshaberi.bot.client.shards import ArrivingServers, MovableShardsClient
from oshaberi.virtual_time import run_virtual

NEVER_S = 3600.0
SPEED = 60.0
SERVER_COUNT = 12
SERVERS = {
    "bot": {"name": "Mochi"},
    "guilds": [
        {"name": f"Server {number}", "members": ["mika"], "channels": ["general"]}
        for number in range(SERVER_COUNT)
    ],
}


class _Server:
    def __init__(self, number: int) -> None:
        self.id = number


@pytest.mark.parametrize("shards", [1, 3])
def test_a_client_is_ready_as_soon_as_its_servers_are_there(shards: int) -> None:
    async def main() -> None:
        async with staged(SERVERS, Settings(time_scale=100.0, shards=shards)) as stage:
            client = MovableShardsClient(intents=intents(), guild_ready_timeout=NEVER_S)
            known: list[int] = []

            async def on_ready() -> None:
                known.append(len(client.guilds))

            client.event(on_ready)
            async with asyncio.timeout(600.0), logged_in(stage, client):
                assert known == [SERVER_COUNT]

    run_scaled(main(), SPEED)


def test_a_server_that_does_not_come_is_waited_for() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        servers = ArrivingServers([1, 2])
        first, joined, second = (cast(discord.Guild, _Server(number)) for number in (1, 9, 2))
        servers.put_nowait(first)
        servers.put_nowait(joined)
        assert await servers.get() is first
        assert await servers.get() is joined
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(servers.get(), 2.0)
        assert loop.time() == 2.0

        servers.put_nowait(second)
        assert await servers.get() is second
        with pytest.raises(TimeoutError):
            await servers.get()
        assert loop.time() == 2.0

    run_virtual(main())
