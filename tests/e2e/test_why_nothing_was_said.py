"""*Why this turn* where an answer was under way and nothing came of it: the true reason."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Call, NoAnswer, Refuse, Say, Stall, Think
from discord_stage.testing import staged
from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.bot_harness import (
    FAST,
    MENTION,
    PERSONA,
    QUICK,
    Answer,
    BotHarness,
    links,
    run_with_bot,
    serving,
    settings_of,
    whys,
)
from tests.e2e.test_when_it_speaks import BURST, PATIENT, SILENT, drawing, gathering

FAILED = "its answer failed before its first word"
USED_UP = "a quota was used up (`/usage`)"
STOPPED = "somebody stopped its answer before its first word (`/stop`)"
SUPERSEDED = "its author wrote again before the answer's first word (follow_up_policy)"
OVERLOADED = "too many answers were being written (max_simultaneous_turns, max_wait_s)"
RESTARTED = "its answer had been cut off by a restart of the bot"
NOTED = "the model read it and chose to say nothing (silence_markers). It noted:"
BROKEN = Refuse("auth")


@pytest.mark.parametrize("answers", [([BROKEN],), ((), (), ())], ids=["refused", "empty"])
def test_a_model_that_failed(answers: tuple[Answer, ...]) -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("hello")
        await here.wait_for(here.notices)
        await here.idle()
        (notice,) = here.ours()
        await whys(here, (asked, FAILED), (notice.id, MENTION))

    run_with_bot(scenario, *answers)


def test_unasked_words_that_failed() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.01)
        heard = here.post("nice day")
        await here.asked_times(1)
        await here.idle()
        assert here.ours() == []
        await whys(here, (heard, FAILED))

    run_with_bot(scenario, [BROKEN], interjection_chance=0.5)


def test_a_quota_that_is_used_up() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.01)
        first = here.ask("one")
        (hi,) = await here.says("Hi.")
        told = here.ask("two")
        await here.wait_for(here.notices)
        await here.idle()
        signed = here.ask("three")
        await here.wait_for(lambda: here.reactions(signed))
        await here.idle()
        unasked = here.post("four")
        await here.wait_for(lambda: here.bot.channel_turns.is_busy(here.id_of("general")))
        await here.idle()
        assert here.reactions(unasked) == []
        await whys(
            here,
            (first, MENTION),
            (hi.id, MENTION),
            (told, USED_UP),
            (signed, USED_UP),
            (unasked, USED_UP),
        )

    run_with_bot(scenario, "Hi.", "Never.", quota_requests_per_user_day=1, interjection_chance=0.5)


def test_after_a_restart_the_reasons_of_questions_are_known(tmp_path: Path) -> None:
    """They are stored with the turn. Of messages that had no turn nothing is known any more."""

    async def main() -> None:
        answers = (Say("Hi."),), (Say("NO_REPLY: mika is asked"),), (Say("Two."),), (BROKEN,)
        async with ModelServer(OpenAIWire(), *answers) as server, staged(world(), FAST) as stage:
            given = {**QUICK, **PATIENT, "persona": PERSONA, "models": links([server])}
            settings = settings_of(tmp_path, {}, **given, quota_requests_per_user_day=4)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                said = here.ask("hello?")
                await here.says("Hi.")
                silent = here.ask("not you?")
                await here.asked_times(2)
                await here.idle()
                first = here.ask("one")
                await gathering(here, here.id_of("general"))
                second = here.post("and")
                await gathering(here, here.id_of("general"), 2)
                third = here.ask("two?")
                (hi, two) = await here.says("Hi.", "Two.")
                failed = here.ask("and?")
                await here.wait_for(here.notices)
                await here.idle()
                used_up = here.ask("more?")
                await here.wait_for(lambda: len(here.notices()) == 2)
                await here.idle()
                aside = here.post("hm", user=OWNER)
                expected = (
                    *((one, MENTION) for one in (said, hi.id, first, third, two.id)),
                    (silent, f"{NOTED} “mika is asked”"),
                    (second, BURST),
                    (failed, FAILED),
                    (used_up, USED_UP),
                )
                await whys(here, *expected)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await whys(here, *expected)
                told = await here.choose("Why this turn", aside)
                assert told.startswith("I no longer know why this message was or was not answered")

    asyncio.run(main())


def test_a_stop_before_the_first_word() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("hello")
        await here.asked_times(1)
        await whys(here, (asked, MENTION))
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.idle()
        assert here.ours() == []
        await whys(here, (asked, STOPPED))

    run_with_bot(scenario, [NoAnswer()])


def test_a_stop_while_somebody_still_writes() -> None:
    async def scenario(here: BotHarness) -> None:
        first = here.ask("hello")
        await gathering(here, here.id_of("general"))
        second = here.post("are you there")
        await gathering(here, here.id_of("general"), 2)
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.idle()
        assert here.model.requests == []
        await whys(here, (first, STOPPED), (second, STOPPED))

    run_with_bot(scenario, **PATIENT)


def test_a_stop_after_the_first_word_is_an_answer() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        (one,) = here.ours()
        await whys(here, (one.id, MENTION))
        await here.run("stop", user=MEMBER)
        await here.idle()
        await whys(here, (asked, MENTION), *((part.id, MENTION) for part in here.ours()))

    run_with_bot(scenario, (Say("One.\nTwo"), Stall()))


def test_a_follow_up_before_the_first_word() -> None:
    async def scenario(here: BotHarness) -> None:
        first = here.ask("one")
        await here.asked_times(1)
        second = here.ask("two")
        (answer,) = await here.says("Both.")
        assert here.asked().last.endswith("Renny: @Oshaberi one\nRenny: @Oshaberi two")
        await whys(here, (first, SUPERSEDED), (second, MENTION), (answer.id, MENTION))

    run_with_bot(scenario, [NoAnswer()], "Both.")


def test_a_question_that_waited_too_long() -> None:
    async def scenario(here: BotHarness) -> None:
        first = here.ask("one", channel="logs")
        await here.asked_times(1)
        late = here.ask("two")
        await here.wait_for(here.notices)
        assert await here.run("stop", user=MEMBER, channel="logs") == "Stopped."
        await here.idle()
        await whys(here, (first, STOPPED), (late, OVERLOADED))

    run_with_bot(scenario, [NoAnswer()], max_simultaneous_turns=1, max_wait_s=1)


def test_what_is_silent_after_an_answer_does_not_unsay_it() -> None:
    """A continuation, and a persona that was called: the question was answered all the same."""

    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Vex", triggers=("vex",))
        asked = here.ask("hello")
        (hi,) = await here.says("Hi, vex.")
        await here.asked_times(2)
        await here.idle()
        assert await here.run("continue", user=MEMBER) == "Continuing."
        await here.asked_times(3)
        await here.says("Hi, vex.")
        await whys(here, (asked, MENTION), (hi.id, MENTION))

    run_with_bot(scenario, "Hi, vex.", "NO_REPLY", "NO_REPLY", self_trigger_limit=1)


def test_another_try_that_says_nothing() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("hello")
        await here.says("Hi.")
        assert await here.run("regenerate", user=MEMBER) == "Answering again."
        await here.asked_times(2)
        await here.says()
        await whys(here, (asked, SILENT))

    run_with_bot(scenario, "Hi.", "NO_REPLY")


@pytest.mark.parametrize("display", ["subtext", "spoiler"])
def test_thoughts_are_not_shown_below_an_answer_that_is_none(display: str) -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("good night")
        await here.asked_times(1)
        await here.says()
        spoken = here.ask("really?")
        await here.wait_for(lambda: len(here.ours()) == 2)
        await whys(here, (asked, SILENT), (spoken, MENTION))

    thinking = Think("They do not mean me.")
    run_with_bot(
        scenario, (thinking, Say("NO_REPLY")), (thinking, Say("Yes.")), reasoning_display=display
    )


def test_words_before_the_tool_that_says_nothing() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("good night")
        (night,) = await here.says("Good night.")
        assert len(here.model.requests) == 1
        await whys(here, (asked, MENTION), (night.id, MENTION))

    run_with_bot(scenario, (Say("Good night."), Call("stay_silent")), "Never.")


def test_an_answer_that_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        model = ModelServer(OpenAIWire(), (Say("One.\nTwo"), Stall()), (Say("Three."),))
        async with model as server, staged(world(), FAST) as stage:
            given = {**QUICK, "persona": PERSONA, "models": links([server])}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                asked = here.ask("count")
                await here.wait_for(lambda: here.said() == ["One."])
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await here.wait_for(lambda: here.said()[-1:] == ["Three."])
                await here.idle()
                one, three = here.ours()[0], here.ours()[-1]
                await whys(here, (one.id, MENTION), (three.id, RESTARTED), (asked, RESTARTED))

    asyncio.run(main())


def test_whoever_does_not_want_to_be_read() -> None:
    async def scenario(here: BotHarness) -> None:
        before = here.ask("hello")
        await here.says("Hi.")
        await here.run("privacy opt-out", user=MEMBER)
        unread = here.ask("hello again")
        other = here.ask("and me?", user=OWNER)
        await here.says("Hi.", "You too.")
        private = "its author does not want the bot to read it (`/privacy opt-out`)"
        await whys(here, (unread, private), (other, MENTION), (before, MENTION))

    run_with_bot(scenario, "Hi.", "You too.")


def test_unasked_words_cost_nobody_their_question() -> None:
    """Nobody sees that the bot has read a message, and nobody has asked by writing it."""

    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.01, 0.01)
        heard = here.post("nice day")
        await here.asked_times(1)
        await here.idle()
        assert here.reactions(heard) == []
        again = here.post("very nice")
        asked = here.ask("hello")
        (hi,) = await here.says("Hi.")
        assert here.reactions(asked) == ["✅"]
        soon = "its author had asked a moment before (cooldown_ms)"
        await whys(here, (heard, SILENT), (again, soon), (asked, MENTION), (hi.id, MENTION))

    run_with_bot(
        scenario,
        "NO_REPLY",
        "Hi.",
        interjection_chance=0.5,
        cooldown_ms=3_600_000,
        status_reactions=True,
    )
