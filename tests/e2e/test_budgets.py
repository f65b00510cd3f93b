"""Nobody runs up the bill: quotas, allow-lists and bounds on the stage, with real databases."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Call, Count, Say
from discord_stage.testing import staged
from oshaberi.bot.storage import SecretVault, upgrade
from oshaberi.bot.storage.records import ModelRecord
from tests.bot.client_harness import ADMIN, MEMBER, OWNER, world
from tests.e2e.bot_harness import (
    FAST,
    KEY,
    QUICK,
    BotHarness,
    bot_harness,
    links,
    run_with_bot,
    serving,
    settings_of,
)
from tests.storage.database_servers import postgres_url
from tests.storage.scenario_database import ask

ALL = "The limit for today is reached"
SAID = (Say("Fine."), Count(900, 100))


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    return postgres_url()


def test_a_quota_ends_is_told_once_and_survives_a_restart(
    database_url: str, tmp_path: Path
) -> None:
    async def main() -> None:
        model = ModelServer(OpenAIWire(), SAID, SAID, (Say("You too."),))
        async with model, staged(world(), FAST) as stage:
            given = {
                **QUICK,
                "quota_requests_per_user_day": 2,
                "database_url": database_url,
                "models": links([model], price={"input": 1.0, "output": 4.0}),
            }
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                await use_up(BotHarness(stage, bot, [model], settings))
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [model], settings)
                last = here.ask("after a restart?")
                await here.wait_for(lambda: here.reactions(last) == ["⏳"])
                assert len(model.requests) == 3
                assert here.notices() == [ALL]

    asyncio.run(main())


async def use_up(here: BotHarness) -> None:
    """The member asks until it is told, the owner once."""
    here.ask("hi")
    await here.says("Fine.")
    here.ask("hi again")
    await here.says("Fine.", "Fine.")
    here.ask("and again?")
    await here.wait_for(lambda: here.notices() == [ALL])
    await here.idle()
    (embed,) = here.ours()[-1].embeds
    assert "You have used all of today's requests (2)" in str(embed["description"])
    assert "<t:" in str(embed["description"])
    told = await here.run("usage", user=MEMBER)
    assert "2 requests, 1,800 tokens read, 200 written, about $0.0026" in told
    assert "- 0 of 2 requests of yours, on the keys of whoever runs the bot" in told
    last = here.ask("please!")
    await here.wait_for(lambda: here.reactions(last) == ["⏳"])
    assert here.notices() == [ALL]
    here.ask("and I?", user=OWNER)
    await here.wait_for(lambda: here.said()[-1:] == ["You too."])
    await here.idle()
    assert len(here.model.requests) == 3


def test_tool_rounds_count_and_a_quota_ends_them() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("what time is it?")
        await here.wait_for(lambda: here.notices() == [ALL])
        await here.idle()
        assert len(here.model.requests) == 3

    again = [(Call("current_time"),)] * 6
    run_with_bot(scenario, *again, quota_requests_per_user_day=3)


@pytest.mark.parametrize("odd", [Count(-1000, -1000), Count(10**18, 1)])
def test_impossible_counts_of_a_model_neither_break_an_answer_nor_give_anything_back(
    odd: Count,
) -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await here.says("Fine.")
        assert_estimated(await here.run("usage", user=MEMBER))

    run_with_bot(scenario, (Say("Fine."), odd), quota_tokens_per_user_day=5000)


def test_a_count_that_is_no_json_is_estimated_and_what_was_said_stays() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await here.wait_for(lambda: here.notices() == ["The model failed to answer"])
        await here.idle()
        assert here.said()[0] == "Fine."
        assert_estimated(await here.run("usage", user=MEMBER))

    run_with_bot(scenario, (Say("Fine."), Count(10**30, 1)), quota_tokens_per_user_day=5000)


def assert_estimated(usage: str) -> None:
    counted = re.search(r"1 request, ([\d,]+) tokens read, (\d+) written\.", usage)
    assert counted is not None, usage
    assert 500 <= int(counted[1].replace(",", "")) <= 5000
    assert counted[2] == "2"


def test_the_operators_key_serves_only_the_operators_models() -> None:
    """Neither by a command nor by what an older version stored."""

    async def scenario(here: BotHarness) -> None:
        dear = {"provider": "openai", "model": "o1-pro"}
        told = await here.run("model set", dear, user=ADMIN)
        assert told == (
            "openai/o1-pro needs an API key of this server: add it with /model key add. "
            "Without one you can use: openai/model-0."
        )
        stored = ModelRecord(here.server_id, "openai", "o1-pro")
        await here.db.models.set_chain(here.server_id, [stored])
        here.ask("hi")
        await here.wait_for(lambda: here.notices() == ["This model cannot be used"])
        await here.idle()
        assert here.model.requests == []
        await here.run("model set", {"provider": "openai", "model": "model-0"}, user=ADMIN)
        here.ask("hi")
        await here.wait_for(lambda: here.said()[-1:] == ["Fine."])
        assert here.asked().key == KEY

    run_with_bot(scenario, "Fine.")


def test_fifty_trigger_words_are_three_requests() -> None:
    async def scenario(here: BotHarness) -> None:
        for number in range(12):
            await here.persona(f"P{number}", triggers=(f"word{number}",))
        here.post(" ".join(f"word{number}" for number in range(12)))
        await here.asked_times(3)
        await here.idle()
        assert len(here.model.requests) == 3

    run_with_bot(scenario, *["Yes."] * 12)


def test_an_admin_may_not_set_a_thousand_rounds() -> None:
    async def scenario(here: BotHarness) -> None:
        values = {"key": "max_function_call_iterations", "value": "1000"}
        assert "more than 100, the most" in await here.run("config set", values, user=ADMIN)

    run_with_bot(scenario)


def test_what_was_set_in_direct_messages_is_the_owners_alone(
    database_url: str, tmp_path: Path
) -> None:
    """A database of an older version, where it served everybody."""
    asyncio.run(upgrade(database_url, to="0003"))
    vault = SecretVault.from_environment_or_file(tmp_path / "secret.key", {})

    async def main() -> None:
        async with bot_harness("No.", folder=tmp_path, database_url=database_url) as here:
            here.ask("hi")
            await here.says("No.")
            assert here.asked().key == KEY
            owner, member = (here.stage.world.user(name).id for name in (OWNER, MEMBER))
            (key,) = await here.db.keys.of(0, "openai", owner)
            assert key.secret == "sk-typed-in-direct-messages"
            assert [one.model for one in await here.db.models.chain(0, owner)] == ["dear"]
            assert await here.db.keys.of(0, "openai", member) == ()
            here.stage.people.dm("hello?", user=MEMBER)
            await here.asked_times(2)
            await here.idle()
            assert here.asked().key == KEY

    ask(
        database_url,
        "INSERT INTO models VALUES (70, 0, 0, 'openai', 'dear', NULL, '{}')",
        "INSERT INTO api_keys VALUES (80, 0, 'openai',"
        f" '{vault.encrypt('sk-typed-in-direct-messages')}', '', NULL)",
    )
    asyncio.run(main())
