"""Two clients of one bot share its shards: real discord.py, leases in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NoReturn

from discord_stage import Settings, Stage
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import logged_in, staged
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.commands import bot_command_tree
from oshaberi.bot.coordination.shard_keeper import ShardKeeper
from oshaberi.discord_io import LeaseFence
from tests.bot.client_harness import NotedChannelTurns, context_of
from tests.bot.memory_leases import LeaseStore, MemoryLeases
from tests.bot.test_movable_shards import SHARDS, sharded_world

STAGE = Settings(
    time_scale=100.0, interaction_s=60.0, shards=SHARDS, max_concurrency=SHARDS, identify_s=5.0
)
LATER_S = 120.0


def _never(reason: str) -> NoReturn:
    raise AssertionError(reason)


class SharingClient:
    """One process: its client, its shards, and what it heard."""

    def __init__(self, keeper: ShardKeeper, turns: NotedChannelTurns, life: AsyncExitStack) -> None:
        self.keeper = keeper
        self.turns = turns
        self.life = life

    @property
    def heard(self) -> list[str]:
        return [incoming.said.text.split(" ", 1)[1] for incoming, _channel in self.turns.heard]


@asynccontextmanager
async def sharing_client(
    stage: Stage, store: LeaseStore, name: str
) -> AsyncIterator[SharingClient]:
    async with AsyncExitStack() as life:
        context, turns = await life.enter_async_context(context_of())
        fence = LeaseFence(asyncio.get_running_loop().time)
        keeper = ShardKeeper(MemoryLeases(store, name), fence, on_expelled=_never)
        client = OshaberiClient(
            context, bot_command_tree, guild_ready_timeout=0.1, shard_terms=keeper, fence=fence
        )
        keeper.get_ready()
        await life.enter_async_context(logged_in(stage, client))
        keeping = asyncio.create_task(keeper.run())
        life.callback(keeping.cancel)
        yield SharingClient(keeper, turns, life)


def connected(stage: Stage) -> list[int]:
    return sorted(session.shard[0] for session in stage.gateway.connected())


def post_everywhere(stage: Stage, text: str) -> list[str]:
    texts = [f"{text} {shard}" for shard in range(SHARDS)]
    for shard, one in enumerate(texts):
        said = f"<@{stage.world.bot.id}> {one}"
        stage.people.post(f"room-{shard}", said, user="mika")
    return texts


def test_two_clients_share_the_shards_and_one_inherits() -> None:
    async def main() -> None:
        store = LeaseStore(since=-100.0)
        async with AsyncExitStack() as stack:
            stage = await stack.enter_async_context(staged(sharded_world(), STAGE))
            first, second = [
                await stack.enter_async_context(sharing_client(stage, store, name))
                for name in ("first", "second")
            ]
            everything = list(range(SHARDS))
            await stage.wait_for(lambda: connected(stage) == everything, LATER_S)
            await stage.wait_for(lambda: len(second.keeper.held) == SHARDS // 2, LATER_S)
            await stage.wait_for(lambda: connected(stage) == everything, LATER_S)
            texts = post_everywhere(stage, "both")
            await stage.wait_for(
                lambda: sorted(first.heard + second.heard) == texts and bool(first.heard), LATER_S
            )
            assert second.heard
            # The first ends without a word: its leases expire. The second has another database, so
            # it finds the older messages too.
            await first.life.aclose()
            later = post_everywhere(stage, "one")
            await stage.wait_for(lambda: second.keeper.held == frozenset(everything), LATER_S)
            await stage.wait_for(lambda: set(later) <= set(second.heard), LATER_S)
            await stage.settled(LATER_S)
            assert sorted(text for text in second.heard if text in later) == later
            assert (stage.gateway.overlaps, stage.gateway.too_early) == (0, 0)

    run_scaled(main(), 10.0)
