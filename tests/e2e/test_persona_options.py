"""Personas with options of their own: models, degree, channels, hours, greeting, memory, colour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Call, Say, Status
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import staged
from tests.bot.client_harness import world
from tests.bot.test_faces import ALL
from tests.e2e.bot_harness import (
    FAST,
    PERSONA,
    QUICK,
    BotHarness,
    links,
    run_with_bot,
    serving,
    settings_of,
    whys,
)

DESCRIBED = world("general", "games") | {"bot": {"name": "Oshaberi", "permissions": list(ALL)}}


async def meet(here: BotHarness, name: str = "Mochi", **more: Any) -> None:
    await here.persona("Anko", is_default=True)
    await here.persona(name, triggers=(name.lower(),), **more)


async def choose(here: BotHarness, option: str, value: str = "", **more: Any) -> str:
    given = {"name": "Mochi", "option": option} | ({"value": value} if value else {})
    return await here.run("persona set", given, **more)


def test_its_own_model_is_asked_first_and_then_those_of_the_channel() -> None:
    async def scenario(here: BotHarness) -> None:
        await meet(here)
        assert await choose(here, "models", "openai/model-1") == (
            "**Mochi**: `models` is now `openai/model-1`."
        )
        here.post("mochi?")
        await here.says("from the second")
        here.post("mochi?")
        await here.says("from the second", "from the first")
        here.ask("and you?")
        await here.says("from the second", "from the first", "the first again")

    second = ("from the second", Status(500, "{}"), Status(500, "{}"))
    run_with_bot(
        scenario,
        "from the first",
        "the first again",
        scripts=[second],
        described=DESCRIBED,
        reply_mode="off",
    )


def test_only_models_and_channels_that_the_server_may_use() -> None:
    async def scenario(here: BotHarness) -> None:
        await meet(here)
        for option, value, words in (
            ("models", "replay/anything", "'replay' is not known"),
            ("models", "anthropic/claude", "needs an API key of this server"),
            ("models", "ollama/qwen", "runs on the bot's machine"),
            ("channels", "999", "is not a channel of this server that you see"),
            ("humanizer_degree", "7", "is not a whole number from 0 to 3"),
            ("mood", "good", "there is no such option"),
        ):
            assert words in await choose(here, option, value), option
        assert "Only members with" in await choose(here, "memory", "own", user="ren")
        [_anko, mochi] = await here.db.personas.of(here.server_id)
        assert mochi.options == {}

    run_with_bot(scenario, described=DESCRIBED, reply_mode="off")


def test_its_degree_where_the_channel_says_nothing() -> None:
    said = "One. Two.\nThree."

    async def scenario(here: BotHarness) -> None:
        await meet(here)
        await choose(here, "humanizer_degree", "0")
        here.post("mochi?")
        await here.says("One. Two.\n\nThree.")
        games = {"key": "humanizer_degree", "value": "1", "in": here.id_of("games")}
        await here.run("config set", games)
        here.post("mochi?", channel="games")
        await here.says("One. Two.", "Three.", channel="games")
        shown = await here.run("persona show", {"name": "Mochi"})
        assert r"\* `humanizer_degree`: `0`" in shown
        assert "- `memory`: `server`" in shown
        assert await choose(here, "humanizer_degree") == "**Mochi**: `humanizer_degree` is reset."

    run_with_bot(scenario, said, said, described=DESCRIBED, reply_mode="off")


def test_where_and_when_it_answers_and_why_it_does_not() -> None:
    async def scenario(here: BotHarness) -> None:
        await meet(here)
        await choose(here, "channels", f"<#{here.id_of('games')}>")
        elsewhere = here.post("mochi?")
        here.post("mochi?", channel="games")
        await here.says("here I am", channel="games")
        here.post("hm, mochi and anko?")
        now = here.bot.client.context.services.clock()
        hours = f"{(now.hour + 3) % 24}-{(now.hour + 4) % 24}"
        await choose(here, "awake_hours", f"{hours} UTC")
        asleep = here.post("mochi?", channel="games")
        here.ask("are you awake?", channel="games")
        await here.says("here I am", "I am Anko.", channel="games")
        await whys(
            here,
            (
                elsewhere,
                "the persona that would answer does so only in certain channels "
                "(`/persona set`, channels)",
            ),
            (asleep, "the persona that would answer was asleep (`/persona set`, awake_hours)"),
        )
        assert here.said() == []

    run_with_bot(scenario, "here I am", "I am Anko.", described=DESCRIBED, reply_mode="off")


GREETED = {"data": {"first_mes": "*{{char}} yawns at {{user}}.*\nWelcome!", "extensions": {}}}


def test_it_greets_each_channel_once_also_after_a_restart(tmp_path: Path) -> None:
    greeting = "*Mochi yawns at Renny.*\nWelcome!"

    async def main() -> None:
        async with (
            ModelServer(OpenAIWire(), (Say("tea"),), (Say("more tea"),), (Say("x"),)) as server,
            staged(DESCRIBED, FAST) as stage,
        ):
            given = {**QUICK, "persona": PERSONA, "models": links([server]), "reply_mode": "auto"}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await meet(here, card=GREETED, options={"greeting": "first"})
                question = here.post("mochi, what do you drink?")
                said = await here.says(greeting, "tea")
                assert [one.username for one in said] == ["Mochi", "Mochi"]
                asked = here.asked()
                assert "Welcome!" in "\n".join(asked.of("assistant"))
                assert "what do you drink?" in asked.question
                words = (
                    "it is how the persona greets a channel in which it is called for the first "
                    "time (`/persona set`, greeting)"
                )
                await whys(
                    here, (said[0].id, words), (question, "it contains a trigger word of a persona")
                )
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                here.post("mochi, and now?")
                await here.says(greeting, "tea", "more tea")
                here.post("hey mochi!", channel="games")
                await here.says(greeting, channel="games")
                assert len(server.requests) == 2

    run_scaled(main(), 1.0)


def test_who_greets_by_command_and_not_at_all_by_default() -> None:
    async def scenario(here: BotHarness) -> None:
        await meet(here, card=GREETED)
        here.post("mochi?")
        await here.says("one")
        await choose(here, "greeting", "any")
        here.post("@everyone mochi!", user="mika")
        said = await here.says("one", "*Mochi yawns at mika.*\nWelcome!")
        assert said[1].username == "Mochi"

    run_with_bot(scenario, "one", described=DESCRIBED, reply_mode="off")


def test_a_memory_of_its_own() -> None:
    fact = "Ren has a grey cat."

    async def scenario(here: BotHarness) -> None:
        await meet(here)
        await choose(here, "memory", "own")
        here.post("mochi, remember my grey cat")
        await here.says("Noted.")
        assert fact not in here.asked().text
        here.ask("do I have a cat?")
        await here.says("Noted.", "No idea.")
        assert fact not in here.asked().text
        here.post("mochi, do I have a cat?")
        await here.says("Noted.", "No idea.", "A grey one.")
        assert fact in here.asked().text
        await here.confirmed("persona delete", {"name": "Mochi"})
        ren = here.stage.world.user("ren").id
        assert await here.db.facts.of(here.server_id, ren) == ()

    call = Call("remember", json.dumps({"fact": fact}))
    run_with_bot(
        scenario,
        call,
        "Noted.",
        "No idea.",
        "A grey one.",
        described=DESCRIBED,
        reply_mode="off",
    )


def test_its_notices_have_its_colour() -> None:
    async def scenario(here: BotHarness) -> None:
        await meet(here)
        assert await choose(here, "colour", "ff8800") == "**Mochi**: `colour` is now `#ff8800`."
        here.post("mochi?")
        await here.wait_for(lambda: here.notices())
        [embed] = here.ours()[-1].embeds
        assert embed["color"] == 0xFF8800

    run_with_bot(scenario, Status(401, "{}"), described=DESCRIBED, reply_mode="off")
