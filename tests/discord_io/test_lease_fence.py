"""Behind a closed fence no request leaves, neither the bot's nor a webhook's."""

from __future__ import annotations

import asyncio

import discord
from discord.http import handle_message_parameters

from discord_stage import Stage
from discord_stage.testing import logged_in, staged
from oshaberi.delivery.sink import WireState
from oshaberi.discord_io import BanGuard, LeaseFence, RequestTrace
from oshaberi.discord_io.requests.guards import time_since_boot
from oshaberi.discord_io.requests.limits import KnownRooms
from oshaberi.discord_io.requests.watch import RequestMeter
from oshaberi.discord_io.webhooks import Hook, WebhookHttp
from oshaberi.virtual_time import run_virtual


def test_it_is_open_until_its_time() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        fence = LeaseFence(now)
        assert fence.is_open
        fence.close_at = now() + 5.0
        assert fence.is_open
        await asyncio.sleep(5.0)
        assert not fence.is_open
        passing = asyncio.create_task(fence.passed())
        await asyncio.sleep(60.0)
        assert not passing.done()
        fence.close_at = now() + 5.0
        await passing

    run_virtual(main())


def test_its_clock_goes_on() -> None:
    before = time_since_boot()
    assert time_since_boot() >= before > 0


async def _held_back(stage: Stage, fence: LeaseFence, request: asyncio.Task[object]) -> None:
    await asyncio.sleep(0.3)
    assert not request.done()
    assert stage.world.contents("general") == []
    fence.close_at = None
    await request
    assert stage.world.contents("general") == ["hello"]


def test_a_request_of_the_bot_waits() -> None:
    async def main() -> None:
        fence = LeaseFence()
        client = discord.Client(
            intents=discord.Intents.all(),
            guild_ready_timeout=0.1,
            http_trace=RequestTrace(fence=fence),
        )
        async with staged() as stage, logged_in(stage, client):
            channel = client.get_channel(stage.world.channel("general").id)
            assert isinstance(channel, discord.TextChannel)
            fence.close_at = 0.0
            await _held_back(stage, fence, asyncio.ensure_future(channel.send("hello")))

    asyncio.run(main())


def test_a_request_of_a_webhook_waits() -> None:
    async def main() -> None:
        fence = LeaseFence()
        client = discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.1)
        async with staged() as stage, logged_in(stage, client):
            channel = client.get_channel(stage.world.channel("general").id)
            assert isinstance(channel, discord.TextChannel)
            made = await channel.create_webhook(name="Kuro")
            http = WebhookHttp("test", BanGuard(), KnownRooms(), RequestMeter(), fence)
            form = handle_message_parameters(content="hello")
            fence.close_at = 0.0
            wire = WireState(asyncio.get_running_loop().time())
            sending = http.execute("key", Hook(made.id, made.token or ""), form, None, wire)
            await _held_back(stage, fence, asyncio.ensure_future(sending))
            await http.close()

    asyncio.run(main())
