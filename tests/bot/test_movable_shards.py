"""The client takes on and gives up single shards: real discord.py on a stage with four of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from discord.gateway import KeepAliveHandler

from discord_stage import Settings
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import staged
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.client.shards import MovableShardsClient
from oshaberi.bot.commands import bot_command_tree
from oshaberi.errors import TemporaryError
from tests.bot.client_harness import SPEED, ClientHarness, client_harness, context_of

SHARDS = 4
FIRST_MS = 360_000_000_000
STAGE = Settings(time_scale=100.0, interaction_s=60.0, shards=SHARDS)


def heartbeats() -> int:
    """How many connections send heartbeats."""
    return sum(isinstance(thread, KeepAliveHandler) for thread in threading.enumerate())


class ChosenShards:
    """The shards that a test allows."""

    def __init__(self) -> None:
        self.held: set[int] = set()
        self.identified: list[int] = []
        self.begun: tuple[int, int] | None = None
        self.turns = asyncio.Event()
        self.turns.set()

    async def begin(
        self, _host: MovableShardsClient, recommended: int, max_concurrency: int
    ) -> int:
        self.begun = (recommended, max_concurrency)
        return recommended

    async def identify_turn(self, shard_id: int) -> None:
        await self.turns.wait()
        if shard_id not in self.held:
            raise OSError("not ours")
        self.identified.append(shard_id)

    def holds(self, shard_id: int) -> bool:
        return shard_id in self.held


class ShardHarness:
    """A client, and who decides on its shards."""

    def __init__(self, harness: ClientHarness, terms: ChosenShards) -> None:
        self.client = harness.client
        self.stage = harness.stage
        self.terms = terms
        self.gate = asyncio.Event()
        """Closed: no connection to the gateway is made."""
        self.gate.set()
        self.connecting = 0
        """Connections that were begun since the gate was closed."""
        self._harness = harness
        self._connect = self.client.http.ws_connect
        self.client.http.ws_connect = self._connect_later  # type: ignore[method-assign]

    async def _connect_later(self, url: str, **options: Any) -> Any:
        if not self.gate.is_set():
            self.connecting += 1
            self.stage.state.changes.notify()
            await self.gate.wait()
        return await self._connect(url, **options)

    async def take(self, shard_id: int) -> None:
        self.terms.held.add(shard_id)
        await self.client.start_shard(shard_id)
        await self.stage.wait_for(lambda: self.client.knows_servers_of(shard_id))

    async def give_up(self, shard_id: int) -> None:
        self.terms.held.discard(shard_id)
        await self.client.stop_shard(shard_id)

    def connected(self) -> list[int]:
        return sorted(session.shard[0] for session in self.stage.gateway.connected())

    def post(self, shard_id: int, text: str) -> None:
        bot_id = self.stage.world.bot.id
        self.stage.people.post(f"room-{shard_id}", f"<@{bot_id}> {text}", user="mika")

    async def heard(self, count: int) -> list[str]:
        return [one.said.text.split(" ", 1)[1] for one in await self._harness.heard(count)]


def sharded_world() -> dict[str, object]:
    """A server with one channel on each shard."""
    guilds = [
        {
            "id": (FIRST_MS + shard) << 22,
            "name": f"Server {shard}",
            "owner": "kei",
            "members": ["kei", "mika"],
            "channels": [f"room-{shard}"],
        }
        for shard in range(SHARDS)
    ]
    return {"guilds": guilds}


def run_with_shards(scenario: Callable[[ShardHarness], Awaitable[None]]) -> None:
    async def main() -> None:
        terms = ChosenShards()
        options = {"shard_terms": terms}
        async with client_harness(sharded_world(), client=options, settings=STAGE) as harness:
            await scenario(ShardHarness(harness, terms))

    run_scaled(main(), SPEED)


def test_no_shard_is_started_by_itself() -> None:
    async def scenario(here: ShardHarness) -> None:
        assert here.terms.begun == (SHARDS, 1)
        assert here.client.is_ready()
        assert here.connected() == []
        assert here.client.gateway_state.problem() is None
        assert here.client.shard_count == SHARDS

    run_with_shards(scenario)


def test_a_shard_brings_its_servers_and_takes_them_away() -> None:
    async def scenario(here: ShardHarness) -> None:
        servers = list(here.stage.world.guilds)
        for shard in (1, 2):
            await here.take(shard)
        assert here.connected() == here.terms.identified == [1, 2]
        assert here.client.server_ids() == frozenset([servers[1], servers[2]])
        assert [here.client.would_have(one) for one in servers] == [False, True, True, False]
        here.post(0, "not here")
        here.post(1, "one")
        assert await here.heard(1) == ["one"]
        await here.give_up(1)
        await here.stage.wait_for(lambda: here.connected() == [2])
        assert here.client.server_ids() == frozenset([servers[2]])
        assert not here.client.would_have(servers[1])
        here.post(1, "too late")
        here.post(2, "two")
        assert await here.heard(2) == ["one", "two"]

    run_with_shards(scenario)


def test_missed_messages_come_before_new_ones() -> None:
    async def scenario(here: ShardHarness) -> None:
        await here.take(3)
        await here.give_up(3)
        here.post(3, "missed")
        here.post(2, "of another shard")
        here.terms.held.add(3)
        await here.client.start_shard(3)
        await here.stage.wait_for(lambda: here.connected() == [3])
        here.post(3, "new")
        assert await here.heard(2) == ["missed", "new"]

    run_with_shards(scenario)


def test_direct_messages_come_with_shard_0() -> None:
    async def scenario(here: ShardHarness) -> None:
        await here.take(1)
        here.stage.people.dm("@bot nobody listens", user="mika")
        await here.stage.settled()
        await here.take(0)
        here.stage.people.dm("@bot hello", user="mika")
        assert (await here.heard(1))[-1] == "hello"
        assert here.stage.world.commands  # which whoever has shard 0 registers

    run_with_shards(scenario)


def test_a_shard_that_is_given_up_while_it_resumes_does_not_come_back() -> None:
    async def scenario(here: ShardHarness) -> None:
        await here.take(0)
        here.gate.clear()
        here.stage.gateway.drop()
        await here.stage.wait_for(lambda: here.connecting == 1)
        await here.give_up(0)
        here.gate.set()
        await here.stage.wait_for(lambda: here.stage.gateway.resumed == 1)
        await here.stage.wait_for(lambda: here.connected() == [])

    run_with_shards(scenario)


def test_nor_if_others_resume_with_it() -> None:
    """discord.py would resume one shard after another; ours do not wait for each other."""

    async def scenario(here: ShardHarness) -> None:
        for shard in (0, 1):
            await here.take(shard)
        here.gate.clear()
        here.stage.gateway.drop()
        await here.stage.wait_for(lambda: here.client.gateway_state.missing() == (0, 1))
        await here.stage.wait_for(lambda: here.connecting == 2)
        await here.give_up(0)
        here.gate.set()
        await here.stage.wait_for(lambda: here.stage.gateway.resumed == 2)
        await here.stage.wait_for(lambda: here.connected() == [1])
        before = here.stage.gateway.resumed
        here.stage.gateway.drop()  # once this is mended, what waited before was dealt with
        await here.stage.wait_for(lambda: here.stage.gateway.resumed > before)
        await here.stage.wait_for(lambda: here.connected() == [1])
        assert here.stage.gateway.resumed == before + 1

    run_with_shards(scenario)


def test_nor_if_it_was_about_to_identify_again() -> None:
    async def scenario(here: ShardHarness) -> None:
        await here.take(0)
        here.terms.turns.clear()
        here.stage.gateway.invalidate()
        await here.stage.wait_for(lambda: here.connected() == [])
        await here.give_up(0)
        here.terms.turns.set()
        await here.take(1)
        await here.stage.settled()
        assert here.connected() == [1]

    run_with_shards(scenario)


def test_a_shard_can_come_back() -> None:
    async def scenario(here: ShardHarness) -> None:
        for number in range(3):
            await here.take(2)
            here.post(2, str(number))
            await here.heard(number + 1)
            await here.give_up(2)
        assert await here.heard(3) == ["0", "1", "2"]

    run_with_shards(scenario)


def test_a_shard_that_is_not_ours_is_not_connected() -> None:
    async def scenario(here: ShardHarness) -> None:
        before = heartbeats()
        with pytest.raises(OSError, match="not ours"):
            await here.client.start_shard(0)
        assert here.connected() == []
        await here.stage.wait_for(lambda: heartbeats() == before)

    run_with_shards(scenario)


def test_a_gateway_that_is_away_is_an_os_error() -> None:
    async def scenario(here: ShardHarness) -> None:
        here.terms.held.add(0)
        here.stage.gateway.refuses = True
        with pytest.raises(OSError, match="gateway"):
            await here.client.start_shard(0)
        here.stage.gateway.refuses = False
        await here.take(0)

    run_with_shards(scenario)


def test_behind_the_fence_nothing_is_heard() -> None:
    async def scenario(here: ShardHarness) -> None:
        await here.take(0)
        here.client.fence.close_at = 0.0
        here.post(0, "behind the fence")
        await here.stage.gateway.caught_up()
        await asyncio.sleep(0.2)
        assert await here.heard(0) == []
        here.client.fence.close_at = None
        assert await here.heard(1) == ["behind the fence"]

    run_with_shards(scenario)


def test_no_session_is_started_where_discord_allows_none() -> None:
    """One more, and Discord would take the token away."""

    async def main() -> None:
        settings = Settings(session_starts=0)
        async with context_of() as (context, _talks), staged(settings=settings) as stage:
            client = OshaberiClient(context, bot_command_tree, shard_terms=ChosenShards())
            async with client:
                with pytest.raises(TemporaryError, match="no further session for 1441 minutes"):
                    await client.serve(stage.token)

    run_scaled(main(), SPEED)
