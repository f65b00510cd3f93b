"""Which model speaks on the local stage, and what of that anybody may see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from discord_stage.errors import StageError
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.local_run.demo_model import MODEL, DemoModel
from oshaberi.bot.local_run.model_choice import ModelChoice
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.services.model_access import OperatorChoices, OperatorModel
from oshaberi.bot.turns.services.turn_services import TurnServices
from tests.storage.migrated_database import opened_database
from tests.turns.shared_services import shared_services

OWN = OperatorModel(ModelRecord(0, "openrouter", "some/model"), ("sk-of-the-settings",))
KEY = "sk-only-in-memory"


async def no_settings(_path: ChannelPath) -> EffectiveSettings:
    raise AssertionError("nobody asks")


def chosen(
    scenario: Callable[[ModelChoice, TurnServices], Awaitable[None]], *configured: OperatorModel
) -> None:
    async def main() -> None:
        async with DemoModel() as demo_model:
            choice = ModelChoice(demo_model, configured)
            async with opened_database() as db:
                services = shared_services(no_settings, db, OperatorChoices())
                choice.give_to(services)
                await scenario(choice, services)

    asyncio.run(main())


def test_without_settings_the_demo_model_speaks() -> None:
    async def scenario(choice: ModelChoice, services: TurnServices) -> None:
        (link,) = services.models.operator.models
        assert link.model.model == MODEL
        state = await choice.read({})
        assert (state["kind"], state["speed"], state["configured"]) == ("demo", 1.0, None)

    chosen(scenario)


def test_the_models_of_the_settings_come_first_and_come_back() -> None:
    async def scenario(choice: ModelChoice, services: TurnServices) -> None:
        assert services.models.operator.models == (OWN,)
        await choice.act({"use": "configured"})
        assert services.models.operator.context_since is None
        await choice.act({"use": "demo"})
        assert services.models.operator.models[0].model.model == MODEL
        assert services.models.operator.context_since is not None, "another model starts afresh"
        state = await choice.act({"use": "configured"})
        assert services.models.operator.models == (OWN,)
        assert state["kind"] == "configured"

    chosen(scenario, OWN)


def test_a_key_is_used_and_never_shown() -> None:
    async def scenario(choice: ModelChoice, services: TurnServices) -> None:
        said = {"use": "openai-compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
        state = await choice.act({**said, "key": KEY})
        (link,) = services.models.operator.models
        assert link.keys == (KEY,)
        assert link.model.base_url == "http://127.0.0.1:9/v1"
        assert KEY not in str(state)
        assert KEY not in repr(services.models.operator.models)

    chosen(scenario)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"speed": 0}, "speed"),
        ({"speed": "fast"}, "speed"),
        ({"speed": True}, "speed"),
        ({"use": "magic"}, "use"),
        ({"use": "ollama"}, "model"),
        ({"use": "openai-compatible", "model": "m"}, "an address is needed"),
        ({"use": "openai-compatible", "model": "m", "base_url": "ftp://x"}, "is not an address"),
        ({"use": "openai-compatible", "model": "m", "base_url": "http://x", "key": "a b"}, "key"),
        *(
            ({"use": "openai-compatible", "model": "m", "base_url": url}, "is not an address")
            for url in (
                *("http://", "http://[::1", "http://a\0b", "http://a b/", "http://x:99999999"),
                *("http://\ud800", "http://" + "x" * 70_000),
            )
        ),
    ],
)
def test_what_makes_no_sense_changes_nothing(said: dict[str, Any], named: str) -> None:
    async def scenario(choice: ModelChoice, services: TurnServices) -> None:
        before = services.models.operator.models
        with pytest.raises(StageError, match=named):
            await choice.act(said)
        assert services.models.operator.models == before

    chosen(scenario)


def test_speed() -> None:
    async def scenario(choice: ModelChoice, _services: TurnServices) -> None:
        assert (await choice.act({"speed": 4}))["speed"] == 4.0

    chosen(scenario)
