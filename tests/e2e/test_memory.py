"""What the bot knows later: after a restart, and after it was told to forget."""

from __future__ import annotations

import asyncio
from pathlib import Path

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say, Stall
from discord_stage.testing import staged
from oshaberi.bot.storage.records import SpriteRecord
from tests.bot.client_harness import ADMIN, MEMBER, world
from tests.e2e.bot_harness import (
    FAST,
    PERSONA,
    QUICK,
    BotHarness,
    links,
    run_with_bot,
    serving,
    settings_of,
)
from tests.e2e.test_tools import call, results


def test_memory_lasts_over_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        remember = (call("remember", fact="Renny drinks oolong."),)
        kept = (Say("Noted.<details>the cup is blue</details>"),)
        server = ModelServer(OpenAIWire(), remember, kept, (Say("Oolong."),), (Say("Blue."),))
        async with server, staged(world(), FAST) as stage:
            given = {**QUICK, "persona": PERSONA, "models": links([server])}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                here.ask("keep my drink in mind")
                await here.says("Noted.")
            here.ask("are you there?")
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await here.says("Noted.", "Oolong.")
                assert "Renny drinks oolong." in here.asked().text
                assert "the cup is blue" in here.asked().text
                assert here.asked().of("assistant") == ["Noted."]
                assert here.asked().last.endswith("\nRenny: @Oshaberi are you there?")
                asked = await here.run("memory list", user=MEMBER)
                assert asked == "1. Renny drinks oolong."
            async with serving(settings, stage):
                await stage.settled()
                assert len(server.requests) == 3
        database = [path.name for path in tmp_path.iterdir()]
        assert {"oshaberi.db", "secret.key"} <= set(database)

    asyncio.run(main())


def test_faces_and_tables_are_known_after_a_restart(tmp_path: Path) -> None:
    table = "| tea | minutes |\n|---|---|\n| green | 2 |"

    async def main() -> None:
        first = (Say(f"Mochi (happy): Here:\n\n{table}\n\nMochi: Bye."),)
        async with (
            ModelServer(OpenAIWire(), first, (Say("Again."),)) as server,
            staged(world(), FAST) as stage,
        ):
            given = {**QUICK, "persona": PERSONA, "models": links([server])}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await here.persona("Oshaberi", is_default=True)
                happy = SpriteRecord("happy", f"{here.stage.url}/cdn/faces/happy.png")
                await here.persona("Mochi", triggers=("mochi",), sprites=(happy,))
                here.post("mochi, a table!")
                await here.wait_for(lambda: "Bye." in here.said())
                await here.idle()
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                picture = next(m for m in here.ours() if m.attachments)
                shown = await here.private(stage.people.press(picture, "Show text", user=MEMBER))
                assert table in shown
                here.post("mochi, once more?")
                await here.asked_times(2)
                await here.idle()
                told = "\n".join(here.asked().of("assistant"))
                assert told == f"Mochi (happy): Here:\n{table}\nMochi: Bye."

    asyncio.run(main())


def test_what_is_forgotten_is_not_told_to_the_model_again() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("keep two things in mind")
        await here.says("Kept.")
        listed = await here.run("memory list", user=MEMBER)
        numbers = {
            text: number for number, text in (one.split(". ") for one in listed.splitlines())
        }
        assert set(numbers) == {"drinks oolong", "hates mornings"}
        oolong = {"fact": numbers["drinks oolong"]}
        assert "Nothing is remembered" in await here.run("memory list", user="aya")
        assert "no such fact" in await here.run("memory forget one", oolong, user="aya")
        assert "deleted" in await here.run("memory forget one", oolong, user=MEMBER)
        here.ask("what do you know?")
        await here.says("Kept.", "Something.")
        assert "drinks oolong" not in here.asked().text
        assert "hates mornings" in here.asked().text
        here.ask("and me?", user="aya")
        await here.says("Kept.", "Something.", "Nothing.")
        assert "hates mornings" not in here.asked().text
        assert "Deleted" in await here.confirmed("memory forget all", user=MEMBER)
        for message in here.stage.world.history("general"):
            here.stage.people.delete(message)
        here.ask("and now?")
        await here.says("A blank.")
        assert "hates mornings" not in here.asked().text
        assert "two things" not in here.asked().text

    calls = [
        call("remember", "a", fact="drinks oolong"),
        call("remember", "b", fact="hates mornings"),
    ]
    run_with_bot(scenario, calls, "Kept.", "Something.", "Nothing.", "A blank.")


def test_what_was_deleted_is_told_to_nobody_any_more() -> None:
    """Neither a question that its author took back, nor an answer that a moderator removed."""

    async def scenario(here: BotHarness) -> None:
        asked = here.ask("my password is 4711")
        await here.says("Kept.")
        here.stage.people.delete(asked)
        here.ask("and where does Ann live?")
        await here.says("Kept.", "In Elm Street.")
        here.stage.people.delete(here.ours()[-1].id)
        await here.stage.settled()
        await here.wait_for(lambda: len(here.ours()) == 1)
        here.ask("what do you know?", user=ADMIN)
        await here.says("Kept.", "Nothing.")
        told = "\n".join([*results(here), here.asked().text])
        assert "4711" not in told
        assert "Elm Street" not in told

    run_with_bot(scenario, "Kept.", "In Elm Street.", [call("list_memories")], "Nothing.")


def test_a_question_that_is_deleted_while_it_is_answered_is_not_remembered() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("my password is 4711")
        await here.wait_for(lambda: here.said() == ["Kept."])
        here.stage.people.delete(asked)
        await here.stage.settled()
        assert (await here.run("stop", user=MEMBER)) == "Stopped."
        await here.idle()
        here.ask("what do you know?", user=ADMIN)
        await here.asked_times(3)
        await here.idle()
        assert "4711" not in "\n".join([*results(here), here.asked().text])

    run_with_bot(
        scenario, [Say("Kept.\nAnd one more thing"), Stall()], [call("list_memories")], "Nothing."
    )
