"""The options of a model reach its endpoint, its request and the text; answers that go on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.novelai_wire import NovelAIWire
from discord_stage.model_servers.scripts import Finish, Say
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.storage.usage import UsageAccount
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.turns.generation.model_call import MOST_CONTINUATIONS
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.model_access import OperatorChoices, OperatorModel
from oshaberi.chunks import ToolCall
from tests.storage.migrated_database import opened_database
from tests.turns.shared_services import shared_services
from tests.turns.turn_harness import (
    ALICE,
    SERVER,
    TOMORI,
    FakeTurnChannel,
    TurnHarness,
    calls,
    quick,
    run_turns,
    text,
    used,
)


def link(**params: Any) -> OperatorModel:
    return OperatorModel(ModelRecord(0, "scripted", "m", params=params))


def test_what_belongs_to_the_endpoint_reaches_it() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        await harness.answer()
        settings = {"window": 9000, "capabilities": {"images": False}, "text": {"hold_limit": 50}}
        assert harness.models.settings == [settings], "one adapter for both answers"
        (request, _) = harness.models.requests
        assert (request.max_output_tokens, request.thinking) == (77, "low")
        assert request.extra == {"seed": 4}

    given = link(
        window=9000,
        images=False,
        text={"hold_limit": 50},
        max_output_tokens=77,
        thinking="low",
        seed=4,
    )
    run_turns(scenario, links=[given])


def test_other_settings_are_another_adapter() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        harness.operator.models = (link(window=20_000),)
        await harness.answer()
        assert harness.models.settings == [{"window": 10_000}, {"window": 20_000}]

    run_turns(scenario, links=[link(window=10_000)])


def test_an_option_that_is_wrong_is_told_and_the_next_model_answers() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.contents == ["Hm."]

    run_turns(scenario, links=[link(window="big"), link()])


@pytest.mark.parametrize("echo", ["", "Dear reader,"])
def test_an_answer_begins_with_the_prefill_once(echo: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.requests[0].prefill == "Dear reader,"
        assert harness.turn_channel.contents == ["Dear reader, it rains."]

    run_turns(scenario, [text(f"{echo} it rains.")], links=[link(prefill="Dear reader,")])


def test_after_a_tool_nothing_is_put_in_front() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert [one.prefill for one in harness.models.requests] == ["Well,", None]
        assert harness.turn_channel.contents == ["Well, let me see.", "It rains."]

    asks = [text(" let me see."), calls(ToolCall("look"))]
    run_turns(scenario, asks, [text("It rains.")], links=[link(prefill="Well,")])


def test_an_api_that_takes_no_prefill_gets_none() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.requests[0].prefill is None
        assert harness.turn_channel.contents == ["It rains."]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.turns.turn_harness.Model.takes_prefill", lambda *_given: False)
        run_turns(scenario, [text("It rains.")], links=[link(prefill="Well,")])


def test_those_who_pay_say_what_it_costs() -> None:
    async def scenario(harness: TurnHarness) -> None:
        price = {"input": 2, "output": 10}
        record = ModelRecord(SERVER, "scripted", "m", params={"price": price})
        await harness.have_models(record, keys=[KeyRecord(SERVER, "scripted", "k")])
        await harness.answer()
        account = UsageAccount("server", SERVER, "user", ALICE.id)
        assert (await harness.totals(account)).cost_micros == 250

    run_turns(scenario, [text("Hm."), used(100, 5)])


# -- NovelAI -------------------------------------------------------------------------------------


def novel(*scripts: Any, **params: Any) -> tuple[list[str], list[str]]:
    """What is said to the channel and what the server was sent."""

    async def main() -> tuple[list[str], list[str]]:
        async with ModelServer(NovelAIWire(), *scripts) as server, opened_database() as db:
            pool = AdapterPool()
            record = ModelRecord(0, "novelai", "kayra-v1", server.url, params=params)
            operator = OperatorChoices((OperatorModel(record, ("k",)),), TOMORI)
            services = shared_services(_settings, db, operator, pool)
            turns, channel = ChannelTurns.over(services), FakeTurnChannel()
            await turns.submit(channel.write("hi"), channel)
            await turns.idle()
            await pool.aclose()
            return channel.contents, [str(one.json["input"]) for one in server.requests]

    return asyncio.run(main())


async def _settings(_path: ChannelPath) -> EffectiveSettings:
    return EffectiveSettings(quick(), TurnConfig())


def test_an_answer_that_ran_out_of_tokens_goes_on_in_the_same_message() -> None:
    contents, inputs = novel(
        (Say("Once up"), Finish("length")), (Say("on a", " ti"), Finish("length")), (Say("me."),)
    )
    assert contents == ["Once upon a time."]
    assert [one.rpartition("\n")[2] for one in inputs] == [
        "Assistant:",
        "Assistant: Once up",
        "Assistant: Once upon a ti",
    ]


def test_a_prefill_goes_before_all_of_it() -> None:
    contents, inputs = novel((Say(" up"), Finish("length")), (Say("on a time."),), prefill="Once")
    assert contents == ["Once upon a time."]
    assert [one.rpartition("\n")[2] for one in inputs] == ["Assistant: Once", "Assistant: Once up"]


def test_it_does_not_go_on_for_ever() -> None:
    scripts = [(Say(f"{n} "), Finish("length")) for n in range(MOST_CONTINUATIONS + 5)]
    contents, inputs = novel(*scripts)
    assert len(inputs) == MOST_CONTINUATIONS + 1
    assert contents == ["0 1 2 3 4 5 6 7 8"]


def test_a_limit_that_was_set_is_that_of_the_answer() -> None:
    contents, inputs = novel((Say("Once up"), Finish("length")), (Say("on"),), max_output_tokens=5)
    assert (contents, len(inputs)) == (["Once up"], 1)
