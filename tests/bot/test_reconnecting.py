"""Shards that lost Discord's gateway come back soon after it does, and find what they missed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import discord
import pytest

from discord_stage import Settings, Stage
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import staged
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.client.shards import (
    ANSWER_SECONDS,
    IDENTIFY_SECONDS,
    MovableShardsClient,
)
from oshaberi.bot.commands import bot_command_tree
from oshaberi.bot.coordination.reconnect_backoff import (
    FORGET_SECONDS,
    LONGEST_SECONDS,
    ReconnectBackoff,
)
from oshaberi.virtual_time import run_virtual
from tests.bot.client_harness import ClientHarness, client_harness, context_of
from tests.bot.test_movable_shards import ChosenShards, ShardHarness, sharded_world

SPEED = 60.0
SHARDS = 4
STAGE = Settings(time_scale=100.0, shards=SHARDS, max_concurrency=1, identify_s=5.0)
SOON_S = LONGEST_SECONDS + SHARDS * 5.0 + 15.0
"""The longest wait, an IDENTIFY of each shard, and what a busy machine takes (of the loop)."""


def test_the_waits_grow_to_half_a_minute_and_are_drawn() -> None:
    longest = ReconnectBackoff(draw=lambda _least, most: most)
    assert [longest.delay() for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]
    shortest = ReconnectBackoff(draw=lambda least, _most: least)
    assert [shortest.delay() for _ in range(8)] == [0.5, 1, 2, 4, 8, 15, 15, 15]
    drawn = ReconnectBackoff()
    assert len({drawn.delay() for _ in range(20)}) == 20


def test_a_connection_that_held_begins_anew() -> None:
    now = [0.0]
    backoff = ReconnectBackoff(draw=lambda _least, most: most, now_s=lambda: now[0])
    for _ in range(9):
        now[0] += LONGEST_SECONDS
        backoff.delay()
    now[0] += FORGET_SECONDS + 1
    assert backoff.delay() == 1


def test_the_next_shard_identifies_five_seconds_after_the_last_was_answered() -> None:
    """Not after it was sent: Discord may get that one late, and then both close together."""

    async def main() -> None:
        client = MovableShardsClient(intents=discord.Intents.none())
        loop = asyncio.get_running_loop()
        await client.before_identify_hook(0, initial=True)

        second = asyncio.create_task(client.before_identify_hook(1))
        await asyncio.sleep(7.0)
        assert not second.done()
        client.dispatch("shard_connect", 0)
        answered_s = loop.time()
        await second
        assert loop.time() - answered_s == IDENTIFY_SECONDS

        third = asyncio.create_task(client.before_identify_hook(2))
        client.dispatch("shard_connect", 0)  # this is not what was asked last
        await asyncio.sleep(7.0)
        assert not third.done()
        client.dispatch("shard_disconnect", 1)
        refused_s = loop.time()
        await third
        assert loop.time() - refused_s == IDENTIFY_SECONDS

        sent_s = loop.time()
        await client.before_identify_hook(3)  # shard 2 is not answered at all
        assert loop.time() - sent_s == ANSWER_SECONDS + IDENTIFY_SECONDS

    run_virtual(main())


def run_with_fixed_shards(scenario: Callable[[ClientHarness], Awaitable[None]]) -> None:
    async def main() -> None:
        async with client_harness(sharded_world(), client={}, settings=STAGE) as harness:
            await harness.stage.wait_for(lambda: len(harness.stage.gateway.connected()) == SHARDS)
            await scenario(harness)

    run_scaled(main(), SPEED)


async def _comes_back(stage: Stage, ask: Callable[[], object]) -> float:
    """Seconds of the loop from the end of a long outage until all shards are connected."""
    gateway = stage.gateway
    gateway.refuses = True
    gateway.drop()
    await stage.wait_for(lambda: gateway.refused >= SHARDS * 9)  # discord.py would wait 512 s
    ask()
    gateway.refuses = False
    began = asyncio.get_running_loop().time()
    await stage.wait_for(lambda: len(gateway.connected()) == SHARDS)
    return asyncio.get_running_loop().time() - began


def test_fixed_shards_come_back_together() -> None:
    """discord.py lets its shards wait one after another."""

    async def scenario(here: ClientHarness) -> None:
        def ask() -> None:
            bot_id = here.stage.world.bot.id
            here.stage.people.post("room-2", f"<@{bot_id}> meanwhile", user="mika")

        assert await _comes_back(here.stage, ask) < SOON_S
        assert [one.said.text.split(" ", 1)[1] for one in await here.heard(1)] == ["meanwhile"]
        assert here.stage.gateway.too_early == 0
        await here.stage.settled()

    run_with_fixed_shards(scenario)


def test_shards_by_leases_come_back_together() -> None:
    async def main() -> None:
        terms = ChosenShards()
        options = {"shard_terms": terms}
        settings = replace(STAGE, max_concurrency=SHARDS)  # the keeper's queue is not here
        async with client_harness(sharded_world(), client=options, settings=settings) as harness:
            here = ShardHarness(harness, terms)
            for shard in range(SHARDS):
                await here.take(shard)
            came_back_s = await _comes_back(here.stage, lambda: here.post(3, "meanwhile"))
            assert came_back_s < SOON_S
            assert await here.heard(1) == ["meanwhile"]
            await here.stage.settled()

    run_scaled(main(), SPEED)


def test_a_client_that_is_closed_does_not_go_on_connecting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """discord.py retried after its close, without end, and logged more each time."""

    async def main() -> None:
        async with context_of() as (context, _talks), staged(settings=STAGE) as stage:
            stage.gateway.refuses = True
            client = OshaberiClient(context, bot_command_tree)
            serving = asyncio.create_task(client.serve(stage.token))
            await stage.wait_for(lambda: stage.gateway.refused >= 3)
            await client.close()
            await asyncio.wait({serving})
            assert not serving.cancelled()
            assert serving.exception() is None

    with caplog.at_level(logging.INFO, "oshaberi.bot.client.shards"):
        run_scaled(main(), SPEED)
    told = [one for one in caplog.messages if "is not connected" in one]
    assert len(told) == 1
