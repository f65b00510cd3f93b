"""Who is meant when several people, bots and personas talk in one channel."""

from __future__ import annotations

import asyncio
from pathlib import Path

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say, Stall
from discord_stage.testing import staged
from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.bot_harness import (
    FAST,
    MENTION,
    PERSONA,
    QUICK,
    BotHarness,
    links,
    run_with_bot,
    serving,
    settings_of,
    whys,
)
from tests.e2e.test_bursts import parts, written
from tests.e2e.test_when_it_speaks import (
    LISTENING,
    OTHERS,
    PATIENT,
    ROBOT,
    SILENT,
    UNADDRESSED,
    decided,
    drawing,
    gathering,
    proxied,
    spoken,
)

TRIGGER = "it contains a trigger word of a persona"
REPLY = "it replies to a message of the bot"
CALLED = "another persona called this one by its trigger word"
COPY = "it is the copy that a proxy bot made of a message that was answered"
REPLACED = "Because a proxy bot replaced it by its copy."
WITH_ROBOT = world(members=[OWNER, MEMBER, {"name": "robot", "bot": True, "id": ROBOT}])


async def with_personas(here: BotHarness) -> None:
    await here.persona("Oshaberi", is_default=True)
    for name in ("Vex", "Kuro"):
        await here.persona(name, triggers=(name.lower(),))


def ours(here: BotHarness) -> list[tuple[str, str]]:
    """Who said what, without the lines of the robot and of proxies."""
    others = (ROBOT, 4711)
    return [(m.username, m.content) for m in here.ours() if m.author_id not in others]


def test_a_message_to_another_bot_and_to_ours() -> None:
    async def scenario(here: BotHarness) -> None:
        await with_personas(here)
        bot = f"<@{here.stage.world.bot.id}>"
        robot = here.post(f"<@{ROBOT}> hi")
        both = here.post(f"<@{ROBOT}> {bot} hi")
        (hi,) = await here.says("Hi.")
        named = here.post(f"<@{ROBOT}> and vex, hi")
        _, yes = await here.says("Hi.", "Yes?")
        await whys(
            here,
            (robot, OTHERS),
            (both, MENTION),
            (hi.id, MENTION),
            (named, TRIGGER),
            (yes.id, TRIGGER),
        )

    run_with_bot(scenario, "Hi.", "Yes?", described=WITH_ROBOT, reply_mode="off")


def test_a_mention_in_code_is_no_mention() -> None:
    async def scenario(here: BotHarness) -> None:
        bot = f"<@{here.stage.world.bot.id}>"
        block, inline = here.post(f"```\n{bot} hi?\n```"), here.post(f"write `{bot} hi?`")
        asked = here.ask("hi?")
        (hi,) = await here.says("Hi.")
        expected = ((block, UNADDRESSED), (inline, UNADDRESSED))
        await whys(here, *expected, (asked, MENTION), (hi.id, MENTION))

    run_with_bot(scenario, "Hi.")


def test_somebody_else_replies_to_an_answer() -> None:
    """To the bot's own message Discord adds a mention; to a webhook's it cannot."""

    async def scenario(here: BotHarness) -> None:
        await with_personas(here)
        asked = here.ask("hello", user=MEMBER)
        (hi,) = await here.says("Hi.")
        reply = here.post("hi from me too", user=OWNER, reply_to=hi.id)
        _, too = await here.says("Hi.", "You too.")
        called = here.post("vex?", user=MEMBER)
        *_, vex = await here.says("Hi.", "You too.", "Yes?")
        to_vex = here.post("not you again", user=OWNER, reply_to=vex.id)
        *_, sorry = await here.says("Hi.", "You too.", "Yes?", "Sorry.")
        assert sorry.username == "Vex"
        await whys(
            here,
            (asked, MENTION),
            (reply, REPLY),
            (too.id, REPLY),
            (called, TRIGGER),
            (to_vex, REPLY),
            (sorry.id, REPLY),
        )

    run_with_bot(scenario, "Hi.", "You too.", "Yes?", "Sorry.", reply_mode="off")


def test_personas_that_call_each_other_end() -> None:
    async def scenario(here: BotHarness) -> None:
        await with_personas(here)
        asked = here.post("vex, wake her")
        await here.asked_times(3)
        await here.idle()
        assert ours(here) == [("Vex", "kuro!"), ("Kuro", "vex?"), ("Vex", "kuro.")]
        first, second, third = here.ours()
        reasons = ((first.id, TRIGGER), (second.id, CALLED), (third.id, CALLED))
        await whys(here, (asked, TRIGGER), *reasons)

    answers = ("kuro!", "vex?", "kuro.", "Never.")
    run_with_bot(scenario, *answers, reply_mode="off", self_trigger_limit=2)


def test_a_bot_that_talks_with_two_personas_is_counted_once_for_both() -> None:
    async def scenario(here: BotHarness) -> None:
        await with_personas(here)
        asked = [here.post("vex and kuro, beep", user="robot")]
        await here.asked_times(2)
        await here.idle()
        asked.append(here.post("vex and kuro, boop", user="robot"))
        await decided(here, asked[-1])
        assert ours(here) == [("Vex", "Boop, kuro."), ("Kuro", "Boop, vex.")]
        vex, kuro = (one.id for one in here.ours() if one.username in ("Vex", "Kuro"))
        rounds = (
            "bots had answered each other often enough; now a person has to write "
            "(bot_rounds_limit)"
        )
        reasons = ((vex, TRIGGER), (kuro, TRIGGER), (asked[1], rounds))
        await whys(here, (asked[0], TRIGGER), *reasons)

    run_with_bot(
        scenario,
        "Boop, kuro.",
        "Boop, vex.",
        "Never.",
        described=WITH_ROBOT,
        reply_mode="off",
        answer_bots=[ROBOT],
        bot_rounds_limit=1,
        self_trigger_limit=0,
    )


def test_the_copy_of_a_question_to_which_the_model_said_nothing() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("who am I?")
        await here.asked_times(1)
        await here.idle()
        copy = proxied(here, "who am I?")
        await decided(here, copy)
        assert (spoken(here), len(here.model.requests)) == ([], 1)
        await whys(here, (asked, SILENT), (copy, COPY))

    run_with_bot(scenario, "NO_REPLY", "Never.")


def test_an_original_that_is_deleted_while_it_is_answered() -> None:
    async def scenario(here: BotHarness) -> None:
        original = here.ask("who am I?")
        await here.wait_for(lambda: spoken(here) == ["One."])
        copy = proxied(here, "who am I?")
        await decided(here, copy)
        here.stage.people.delete(original)
        await here.stage.settled()
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.idle()
        assert (spoken(here), len(here.model.requests)) == (["One.", "Two."], 1)
        answers = [one.id for one in here.ours() if one.webhook_id is None]
        await whys(here, (copy, COPY), *((one, MENTION) for one in answers))
        assert await here.bot.channel_turns.why(original) == f"Because {MENTION}."

    run_with_bot(scenario, (Say("One.\nTwo. Thr"), Stall()), "Never.")


def test_a_reply_through_a_proxy_is_answered() -> None:
    """A webhook cannot reply: without its original, the copy would address nobody."""

    async def scenario(here: BotHarness) -> None:
        here.ask("hello?", user=OWNER)
        await here.wait_for(lambda: spoken(here) == ["Hi."])
        await here.idle()
        original = here.post("and I -m", reply_to=here.ours()[0].id)
        await gathering(here, here.id_of("general"))
        copy = proxied(here, "and I", mention=False)
        await here.wait_for(lambda: parts(here) == ["and I"])
        here.stage.people.delete(original)
        written(here)
        await here.wait_for(lambda: spoken(here) == ["Hi.", "You too."])
        await here.idle()
        await whys(here, (copy, REPLY))
        assert await here.bot.channel_turns.why(original) == REPLACED

    run_with_bot(scenario, "Hi.", "You too.", **PATIENT)


def test_a_reply_to_somebody_else_through_a_proxy_is_theirs() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here)
        here.ask("hello?")
        await here.wait_for(lambda: spoken(here) == ["Hi."])
        await here.idle()
        lunch = here.post(f"<@{here.stage.world.user(MEMBER).id}> lunch?", user=OWNER)
        original = here.post("sure -m", reply_to=lunch)
        await decided(here, original)
        copy = proxied(here, "sure", mention=False)
        await decided(here, copy)
        await whys(here, (original, OTHERS), (copy, OTHERS))
        assert spoken(here) == ["Hi."]

    run_with_bot(scenario, "Hi.", "Never.", **LISTENING)


def test_a_short_copy_takes_nobody_elses_question() -> None:
    async def scenario(here: BotHarness) -> None:
        tagged = here.post("m: ok")
        await decided(here, tagged)
        asked = here.ask("is this ok now", user=OWNER)
        await gathering(here, here.id_of("general"))
        copy = proxied(here, "ok", mention=False)
        await decided(here, copy)
        written(here)
        await here.wait_for(lambda: spoken(here) == ["It is."])
        await here.idle()
        await whys(here, (asked, MENTION), (copy, UNADDRESSED))

    run_with_bot(scenario, "It is.", **PATIENT)


def test_tags_behind_the_mention() -> None:
    """PluralKit takes a leading mention for a part of the text: `@Oshaberi m: who am I?`."""

    async def scenario(here: BotHarness) -> None:
        original = here.ask("m: who am I?")
        await here.wait_for(lambda: spoken(here) == ["Ren."])
        await here.idle()
        copy = proxied(here, "who am I?")
        await decided(here, copy)
        await here.idle()
        assert spoken(here) == ["Ren."]
        await whys(here, (original, MENTION), (copy, COPY))

    run_with_bot(scenario, "Ren.", "Never.")


def test_a_copy_that_is_edited_stays_its_persons() -> None:
    async def scenario(here: BotHarness) -> None:
        ren = here.stage.world.user(MEMBER).id
        await here.run("config set", {"key": "allowed_users", "value": f"<@{ren}>"})
        original = here.ask("who am -m")
        await gathering(here, here.id_of("general"))
        copy = proxied(here, "who am")
        await here.wait_for(lambda: parts(here) == ["@Oshaberi who am"])
        here.stage.people.delete(original)
        here.stage.people.edit(copy, f"<@{here.stage.world.bot.id}> who am I")
        await here.wait_for(lambda: parts(here) != ["@Oshaberi who am"])
        assert parts(here) == ["@Oshaberi who am I"]
        written(here)
        await here.wait_for(lambda: spoken(here) == ["Ren."])
        await here.idle()
        await whys(here, (copy, MENTION))

    run_with_bot(scenario, "Ren.", **PATIENT)


def test_after_a_restart_the_bot_does_not_go_on_listening(tmp_path: Path) -> None:
    async def main() -> None:
        model = ModelServer(OpenAIWire(), (Say("Hi."),), (Say("Again."),))
        async with model as server, staged(world(), FAST) as stage:
            given = {**QUICK, **LISTENING, "persona": PERSONA, "models": links([server])}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                here.ask("hello")
                (hi,) = await here.says("Hi.")
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                drawing(here)
                on = here.post("and you")
                again = here.ask("you!")
                _, answer = await here.says("Hi.", "Again.")
                reasons = ((on, UNADDRESSED), (again, MENTION), (answer.id, MENTION))
                await whys(here, (hi.id, MENTION), *reasons)

    asyncio.run(main())
