"""A new session: ready when its servers are there, and nothing of the last one is kept."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
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
from tests.bot.client_harness import MEMBER, ClientHarness, run_with_client

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


def live_objects() -> Counter[str]:
    """How many objects there are of what a server consists of, and of channels without one."""
    gc.collect()
    kinds = (discord.Guild, discord.Role, discord.Emoji, discord.PartialMessageable)
    return Counter(type(one).__name__ for one in gc.get_objects() if isinstance(one, kinds))


async def new_session(harness: ClientHarness) -> None:
    harness.stage.gateway.invalidate()
    await harness.client.wait_for("shard_ready")


def test_messages_do_not_keep_the_servers_of_earlier_sessions() -> None:
    async def scenario(harness: ClientHarness) -> None:
        before = None
        for number in range(6):
            mention = f"<@{harness.stage.world.bot.id}>"
            harness.stage.people.post("general", f"{mention} {number}", user=MEMBER)
            await harness.heard(number + 1)
            await harness.turn_channel().channel_info(None, 50)
            await new_session(harness)
            before = before or live_objects()
        assert len(harness.client.cached_messages) == 6
        assert live_objects() == before

    run_with_client(scenario)


def test_a_server_stays_the_same_object_and_contains_what_is_new() -> None:
    async def scenario(harness: ClientHarness) -> None:
        guild, logs, general = harness.client.guilds[0], harness.channel("logs"), harness.channel()
        del harness.stage.world.channels[logs.id]  # while the bot is not connected
        harness.client._connection._add_guild_from_data({"id": guild.id, "unavailable": True})
        assert guild.unavailable
        assert logs.permissions_for(guild.me).view_channel, "a running turn goes on"

        await new_session(harness)
        assert harness.client.guilds[0] is guild
        assert not guild.unavailable
        assert guild.get_channel(logs.id) is None
        assert guild.get_channel(general.id) is not general
        assert general.guild.me is guild.me
        assert set(harness.client.emojis) == set(guild.emojis)

    run_with_client(scenario)
