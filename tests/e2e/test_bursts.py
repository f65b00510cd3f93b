"""People who write in several messages, and change their minds before they are answered."""

from __future__ import annotations

import asyncio

import pytest

from discord_stage.model_servers.scripts import Finish
from tests.bot.client_harness import MEMBER, OWNER
from tests.e2e.bot_harness import MENTION, BotHarness, run_with_bot, whys
from tests.e2e.test_when_it_speaks import (
    BURST,
    PATIENT,
    UNADDRESSED,
    drawing,
    gathering,
    seen_typing,
)

TRIGGER = "it contains a trigger word of a persona"
WITHDRAWN = "it was deleted before its turn"
PLACE = "general"


async def why(here: BotHarness, message_id: int) -> str | None:
    """Of a message that is deleted, nobody can open the menu."""
    return await here.bot.channel_turns.why(message_id)


def written(here: BotHarness) -> None:
    """Whoever writes has finished."""
    job = here.bot.channel_turns.current(here.id_of(PLACE))
    assert job is not None
    assert job.burst is not None
    job.burst.end()


def parts(here: BotHarness) -> list[str]:
    """The messages of the question that is not answered yet."""
    job = here.bot.channel_turns.current(here.id_of(PLACE))
    return [] if job is None else [one.said.text for one in job.asked]


def test_somebody_who_never_stops_typing() -> None:
    async def scenario(here: BotHarness) -> None:
        place, loop = here.id_of(PLACE), asyncio.get_running_loop()
        began_s = loop.time()
        first = here.ask("hey")
        await gathering(here, place)
        job = here.bot.channel_turns.current(place)
        assert job is not None
        assert job.burst is not None
        burst, typed_s = job.burst, 0.0
        while not here.model.requests:
            assert loop.time() - began_s < 60.0, "nobody waits that long"
            here.stage.people.type(PLACE, user=MEMBER)
            typed_s = max(typed_s, burst._typing_s)
            await asyncio.sleep(0.5)
        (answer,) = await here.says("Go on.")
        assert typed_s - began_s > 10.0, "Discord said that they typed"
        assert loop.time() - began_s >= 8.0
        await whys(here, (first, MENTION), (answer.id, MENTION))

    run_with_bot(scenario, "Go on.", burst_wait_ms=700, burst_max_ms=8000, speed=20.0)


def test_two_people_who_write_in_bursts_at_the_same_time() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of(PLACE)
        rens = [here.ask("hey")]
        await gathering(here, place)
        mikas = [here.ask("hello", user=OWNER)]
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 1)
        here.stage.people.type(PLACE, user=MEMBER)
        await seen_typing(here, place)
        rens.append(here.post("how tall is Fuji"))
        await gathering(here, place, 2)
        mikas.append(here.post("and Everest", user=OWNER))
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 2)
        written(here)
        await here.asked_times(1)
        await here.wait_for(lambda: parts(here) == ["@Oshaberi hello", "and Everest"])
        written(here)
        fuji, everest = await here.says("3776.", "8849.")
        assert [here.asked(number).question for number in (0, 1)] == [
            "Renny: @Oshaberi hey how tall is Fuji",
            "mika: @Oshaberi hello and Everest",
        ]
        assert "You answer mika after this." in here.asked(0).last
        replies = [int((one.reference or {})["message_id"]) for one in (fuji, everest)]
        assert replies == [rens[-1], mikas[-1]]
        reasons = [(one, reason) for one, reason in zip(rens, (MENTION, BURST), strict=True)]
        reasons += [(one, reason) for one, reason in zip(mikas, (MENTION, BURST), strict=True)]
        await whys(here, *reasons, (fuji.id, MENTION), (everest.id, MENTION))

    run_with_bot(scenario, "3776.", "8849.", **PATIENT)


def test_a_part_that_is_edited_or_deleted_meanwhile() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of(PLACE)
        first = here.ask("hey")
        await gathering(here, place)
        wrong, gone = here.post("how talll is Fuji"), 0
        await gathering(here, place, 2)
        gone = here.post("in feet")
        await gathering(here, place, 3)
        here.stage.people.edit(wrong, "how tall is Fuji")
        here.stage.people.delete(gone)
        await here.wait_for(lambda: parts(here) == ["@Oshaberi hey", "how tall is Fuji"])
        written(here)
        (answer,) = await here.says("3776.")
        assert here.asked().last.endswith("Renny: @Oshaberi hey\nRenny: how tall is Fuji")
        await whys(here, (first, MENTION), (wrong, BURST), (answer.id, MENTION))
        assert await why(here, gone) == f"Because {WITHDRAWN}."

    run_with_bot(scenario, "3776.", **PATIENT)


def test_who_deletes_the_mention_does_not_ask_any_more() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of(PLACE)
        asked = here.ask("hey")
        await gathering(here, place)
        rest = here.post("what is for lunch")
        await gathering(here, place, 2)
        here.stage.people.delete(asked)
        await here.wait_for(lambda: parts(here) == [])
        await here.idle()
        assert here.model.requests == []
        assert await why(here, asked) == f"Because {WITHDRAWN}."
        await whys(here, (rest, UNADDRESSED))

    run_with_bot(scenario, "Rice.", **PATIENT)


def test_who_deletes_at_once_has_not_asked() -> None:
    """The bot hears of it while it still looks at the message."""

    async def scenario(here: BotHarness) -> None:
        oops = here.ask("oops")
        here.stage.people.delete(oops)
        asked = here.ask("how tall is Fuji?")
        (answer,) = await here.says("3776.")
        assert "oops" not in here.asked().text
        await whys(here, (asked, MENTION), (answer.id, MENTION))
        assert await why(here, oops) == f"Because {WITHDRAWN}."

    run_with_bot(scenario, "3776.", "Never.", **PATIENT)


def test_the_mention_moves_to_another_part() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of(PLACE)
        first = here.ask("hey")
        await gathering(here, place)
        second = here.post("how tall is Fuji")
        await gathering(here, place, 2)
        here.stage.people.edit(second, f"<@{here.stage.world.bot.id}> how tall is Fuji")
        await here.wait_for(lambda: parts(here)[-1] == "@Oshaberi how tall is Fuji")
        here.stage.people.delete(first)
        await here.wait_for(lambda: len(parts(here)) < 2)
        written(here)
        (answer,) = await here.says("3776.")
        await whys(here, (second, MENTION), (answer.id, MENTION))
        assert await why(here, first) == f"Because {WITHDRAWN}."

    run_with_bot(scenario, "3776.", **PATIENT)


def test_who_edits_the_mention_away_does_not_ask_any_more() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of(PLACE)
        ren = here.stage.world.user(MEMBER).id
        asked = here.ask("hey", user=OWNER)
        await gathering(here, place)
        rest = here.post("what is for lunch", user=OWNER)
        await gathering(here, place, 2)
        here.stage.people.edit(asked, f"<@{ren}> hey")
        await here.wait_for(lambda: parts(here) == [])
        await here.idle()
        assert here.model.requests == []
        others = "it mentions or replies to somebody else"
        await whys(here, (asked, others), (rest, UNADDRESSED))

    run_with_bot(scenario, "Rice.", **PATIENT)


def test_a_mention_that_is_deleted_after_another_one() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of(PLACE)
        wrong = here.ask("hwo tall")
        await gathering(here, place)
        right = here.ask("how tall is Fuji")
        await gathering(here, place, 2)
        here.stage.people.delete(wrong)
        await here.wait_for(lambda: parts(here) == ["@Oshaberi how tall is Fuji"])
        written(here)
        (answer,) = await here.says("3776.")
        await whys(here, (right, MENTION), (answer.id, MENTION))

    run_with_bot(scenario, "3776.", **PATIENT)


@pytest.mark.parametrize("is_edited", [True, False])
def test_unasked_words_become_a_question(is_edited: bool) -> None:
    """Whoever mentions the bot after all is told if the answer fails, and waits for it."""

    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.01)
        place, bot = here.id_of(PLACE), here.stage.world.bot.id
        first = here.post("nice day")
        await gathering(here, place)
        if is_edited:
            here.stage.people.edit(first, f"<@{bot}> nice day")
            await here.wait_for(lambda: parts(here) == ["@Oshaberi nice day"])
        else:
            second = here.ask("isn't it")
            await gathering(here, place, 2)
        written(here)
        await here.wait_for(here.notices)
        await here.idle()
        assert here.notices() == ["The model's provider blocked this answer"]
        failed = "its answer failed before its first word"
        await whys(here, (first if is_edited else second, failed), (here.ours()[-1].id, MENTION))

    run_with_bot(scenario, (Finish("content_filter"),), interjection_chance=0.1, **PATIENT)


def test_a_question_becomes_unasked_words_again() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.01)
        place = here.id_of(PLACE)
        first = here.post("nice day")
        await gathering(here, place)
        second = here.ask("isn't it")
        await gathering(here, place, 2)
        here.stage.people.delete(second)
        await here.wait_for(lambda: parts(here) == ["nice day"])
        written(here)
        (answer,) = await here.says("It is.")
        unasked = "the bot may speak unasked (interjection_chance): chance 0.1, drew 0.01"
        await whys(here, (first, unasked), (answer.id, unasked))

    run_with_bot(scenario, "It is.", interjection_chance=0.1, **PATIENT)


def test_the_persona_that_an_edited_question_calls_answers() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Vex", triggers=("vex",))
        await here.persona("Kuro", triggers=("kuro",))
        asked = here.post("vex, hey")
        await gathering(here, here.id_of(PLACE))
        here.stage.people.edit(asked, "kuro, hey")
        await here.wait_for(lambda: parts(here) == ["kuro, hey"])
        written(here)
        (answer,) = await here.says("Meow.")
        assert answer.username == "Kuro"
        await whys(here, (asked, TRIGGER), (answer.id, TRIGGER))

    run_with_bot(scenario, "Meow.", reply_mode="off", **PATIENT)
