"""Fallback against real servers over real sockets, with the real SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from types import MappingProxyType
from typing import Any, TypeVar

import pytest

from discord_stage.model_servers import ModelServer, OllamaWire, OpenAIWire, WireFormat
from discord_stage.model_servers.scripts import Call, Refuse, Say, Status, Step
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.model_access import OperatorChoices, OperatorModel
from tests.storage.migrated_database import opened_database
from tests.turns.shared_services import shared_services
from tests.turns.turn_harness import TOMORI, FakeTurnChannel, quick

pytest.importorskip("openai")

T = TypeVar("T")
Scene = Callable[[ChannelTurns, FakeTurnChannel, list[ModelServer]], Awaitable[T]]
BUSY = Status(
    429, '{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}', {"retry-after": "70"}
)


def perform(
    scenario: Scene[T],
    *servers: list[list[Step]],
    keys: tuple[str, ...] = ("k1",),
    wire: Callable[[], WireFormat] = OpenAIWire,
    provider: str = "openai",
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> T:
    """One model per server; each plays its scripts in order."""

    async def main() -> T:
        async with AsyncExitStack() as stack:
            started = [
                await stack.enter_async_context(ModelServer(wire(), *scripts))
                for scripts in servers
            ]
            pool = AdapterPool()
            stack.push_async_callback(pool.aclose)
            links = [
                OperatorModel(
                    ModelRecord(0, provider, f"model-{number}", base_url=server.url),
                    keys,
                    settings=settings,
                )
                for number, server in enumerate(started)
            ]
            db = await stack.enter_async_context(opened_database())
            operator = OperatorChoices(tuple(links), TOMORI)
            services = shared_services(_settings, db, operator, pool)
            return await scenario(ChannelTurns.over(services), FakeTurnChannel(), started)

    return asyncio.run(main())


async def _settings(_path: ChannelPath) -> EffectiveSettings:
    return EffectiveSettings(quick(), TurnConfig())


async def ask(channel_turns: ChannelTurns, turn_channel: FakeTurnChannel) -> None:
    await channel_turns.submit(turn_channel.write("hi"), turn_channel)
    await channel_turns.idle()


def keys_of(server: ModelServer) -> list[str]:
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]


def test_a_429_moves_on_to_the_next_key_and_rests_the_first() -> None:
    async def scenario(
        channel_turns: ChannelTurns, turn_channel: FakeTurnChannel, servers: list[ModelServer]
    ) -> None:
        await ask(channel_turns, turn_channel)
        assert keys_of(servers[0]) == ["k1", "k2"]
        await ask(channel_turns, turn_channel)
        assert keys_of(servers[0]) == ["k1", "k2", "k2"]
        assert turn_channel.contents == ["Fine.", "Again."]
        assert turn_channel.embeds == []

    perform(scenario, [[BUSY], [Say("Fine.")], [Say("Again.")]], keys=("k1", "k2"))


def test_a_429_on_every_key_moves_on_to_the_next_model() -> None:
    async def scenario(
        channel_turns: ChannelTurns, turn_channel: FakeTurnChannel, servers: list[ModelServer]
    ) -> None:
        await ask(channel_turns, turn_channel)
        assert [len(server.requests) for server in servers] == [2, 0]
        assert turn_channel.contents == []
        assert turn_channel.embeds == ["The model's rate limit is reached"]

    async def moved(
        channel_turns: ChannelTurns, turn_channel: FakeTurnChannel, servers: list[ModelServer]
    ) -> None:
        await ask(channel_turns, turn_channel)
        assert [len(server.requests) for server in servers] == [1, 1]
        assert turn_channel.contents == ["From the spare."]
        assert turn_channel.embeds == []

    perform(scenario, [[BUSY], [BUSY]], [], keys=("k1", "k2"))
    perform(moved, [[Refuse("provider_overloaded")]], [[Say("From the spare.")]])


def test_the_last_refusal_is_shown_without_the_key() -> None:
    async def scenario(
        channel_turns: ChannelTurns, turn_channel: FakeTurnChannel, servers: list[ModelServer]
    ) -> None:
        await ask(channel_turns, turn_channel)
        assert len(servers[0].requests) == 1
        assert turn_channel.embeds == ["The model's provider does not accept our key"]
        assert "k1-secret" not in str(turn_channel.channel.records)

    message = "Incorrect API key provided: k1-secret-key"
    perform(scenario, [[Refuse("auth", message)]], keys=("k1-secret-key",))


def test_tool_results_go_back_to_the_model() -> None:
    async def scenario(
        channel_turns: ChannelTurns, turn_channel: FakeTurnChannel, servers: list[ModelServer]
    ) -> None:
        await ask(channel_turns, turn_channel)
        assert turn_channel.contents == ["Let me see.", "I have none."]
        body = json.loads(servers[0].requests[1].body)
        roles = [message["role"] for message in body["messages"]]
        assert roles[-2:] == ["assistant", "tool"]

    perform(scenario, [[Say("Let me see."), Call("look")], [Say("I have none.")]])


MISSING = Status(404, '{"error":"model "model-0" not found, try pulling it first"}')


@pytest.mark.parametrize("allowed", [True, False])
def test_who_waits_for_a_download_sees_in_one_quiet_notice_how_far_it_is(allowed: bool) -> None:
    async def scenario(
        channel_turns: ChannelTurns, turn_channel: FakeTurnChannel, servers: list[ModelServer]
    ) -> None:
        await ask(channel_turns, turn_channel)
        paths = [request.path for request in servers[0].requests]
        if allowed:
            assert paths == ["/api/chat", "/api/pull", "/api/chat"]
            assert turn_channel.embeds == ["This answer has to wait"]
            (notice,) = [one.post for one in turn_channel.channel.posted if one.post.embed]
            assert notice.silent
            assert notice.embed is not None
            assert notice.embed.description.endswith("first: 100 % of 4.7 GB.")
            assert turn_channel.contents == ["Here I am."]
        else:
            assert "/api/pull" not in paths
            assert turn_channel.embeds == ["This model cannot be used"]

    steps: list[Step] = [Say("1000000000/4700000000", "4700000000/4700000000")]
    scripts: list[list[Step]] = [[MISSING], steps, [Say("Here I am.")]]
    perform(
        scenario,
        scripts,
        keys=(),
        wire=OllamaWire,
        provider="ollama-native",
        settings={"pull": True} if allowed else {},
    )
