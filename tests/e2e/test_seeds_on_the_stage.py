"""What the seeds ask of the text and its pace, seen in a channel: one play for each rule.

The scenes have the cases; here it is shown that the bot gives the rules what they need.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from discord_stage.model_servers.scripts import Call, Say, Stall
from tests.bot.client_harness import MEMBER, OWNER
from tests.e2e.bot_harness import MENTION, BotHarness, run_with_bot, whys

TYPING = "POST /channels/*/typing"
TRIGGER = "it contains a trigger word of a persona"
EXAMPLES = Path(__file__).parents[2] / "examples"


async def answered(here: BotHarness, asked: int, why: str = MENTION) -> None:
    """The question and every message of its answer have their reason."""
    await here.idle()
    await whys(here, (asked, why), *((one.id, why) for one in here.ours()))


def test_own_names_in_front_of_an_answer_are_no_speakers() -> None:
    """The bot's name, a trigger word and, for an alter, the default persona's name."""

    async def scenario(here: BotHarness) -> None:
        await here.persona("Tomori", is_default=True)
        await here.persona("Mochi", triggers=("mochi", "little cat"))
        asked = here.post("mochi?")
        await here.says("hi", "meow", "purr", "yes")
        await answered(here, asked, TRIGGER)

    said = "Oshaberi: Mochi: hi\nLittle cat: meow\nTomori: purr\nMochi: yes"
    run_with_bot(
        scenario,
        said,
        reply_mode="off",
        llm_stop_speaker_pattern_enabled=True,
        registered_speaker_guard_enabled=True,
    )


def test_the_guard_stops_at_somebody_else() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("hello")
        await here.says("Hi.")
        await answered(here, asked)

    said = "Oshaberi: Hi.\nRenny: I am well.\nOshaberi: Good."
    run_with_bot(scenario, said, registered_speaker_guard_enabled=True)


def test_a_stop_ends_at_a_clause_and_the_model_goes_on_from_there() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("tell me")
        await here.wait_for(lambda: here.said() == ["Well."])
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.says("Well.", "I went home.")
        await answered(here, asked)
        assert await here.run("continue", user=MEMBER) == "Continuing."
        (*_, rest) = await here.says("Well.", "I went home.", "Then I made tea.")
        assert here.asked().of("assistant") == ["Well.\nI went home."]
        await whys(here, (asked, MENTION), (rest.id, "somebody asked to continue"))

    run_with_bot(
        scenario, (Say("Well.\nI went home. Then I made some"), Stall()), "Then I made tea."
    )


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_whoever_waits_for_a_long_block_sees_that_the_bot_types(degree: int) -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("some code")
        await here.wait_for(lambda: len(here.stage.calls(TYPING)) >= 4)
        assert here.said() == []
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.wait_for(here.said)
        await answered(here, asked)

    code = Say("```py\nprint(1)\n")
    run_with_bot(scenario, (code, Stall()), humanizer_degree=degree, speed=20.0)


def test_a_thinking_pause_comes_before_a_later_message() -> None:
    async def scenario(here: BotHarness) -> None:
        loop = asyncio.get_running_loop()
        asked = here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        began_s = loop.time()
        await here.says("One.", "Two.")
        assert loop.time() - began_s >= 9.0
        await answered(here, asked)

    pause = {"min_random_pause_ms": 10_000, "max_random_pause_ms": 10_000}
    run_with_bot(
        scenario,
        "One.\nTwo.",
        humanizer_degree=2,
        thinking_pause_chance=1.0,
        max_backlog_ms=60_000,
        speed=20.0,
        **pause,
    )


def test_code_is_cut_at_blank_lines_and_a_list_stays_together() -> None:
    functions = [f"def f{number}():\n    return {number}" for number in range(1, 9)]

    async def scenario(here: BotHarness) -> None:
        asked = here.ask("a list, and code")
        await here.wait_for(lambda: here.said() and "return 8" in here.said()[-1])
        await answered(here, asked)
        tea, *code = here.said()
        assert tea == "- green\n- black"
        assert len(code) > 1
        inside = [one.removeprefix("```py\n").removesuffix("\n```") for one in code]
        assert [one for part in inside for one in part.strip().split("\n\n")] == functions

    block = "\n\n".join(functions)
    run_with_bot(
        scenario, f"- green\n- black\n\n```py\n{block}\n```", max_single_message_length=100
    )


def test_a_link_whose_label_has_a_line_break_is_whole() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("where?")
        (answer,) = await here.says("See [the long\nguide](https://tea.test/a).")
        assert answer.content.count("\n") == 1
        await answered(here, asked)

    run_with_bot(scenario, [Say("See [the lo", "ng\ngui", "de](https://tea.", "test/a).")])


@pytest.mark.parametrize(
    ("degree", "notify", "said"),
    [(0, "all", ["One.\n\nTwo."]), (1, "last", ["One.\nTwo."])],
)
def test_live_mode_with_degree_0_and_with_notify_last(
    degree: int, notify: str, said: list[str]
) -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("count")
        await here.says(*said)
        await answered(here, asked)

    run_with_bot(
        scenario, [Say("One.\n", "Two.")], delivery="live", humanizer_degree=degree, notify=notify
    )


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three examples of plug-ins, installed as a package."""
    package = tmp_path / "plugged-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[oshaberi.attachments]\ncsv = own_attachment:csv_file\n"
        "[oshaberi.display_modes]\nheadline = own_display_mode:headline\n"
        "[oshaberi.tool_text]\nsay_so = own_tool_text:say_so\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)


@pytest.mark.usefixtures("plugged")
def test_plug_ins_of_all_three_kinds() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        asked = here.post("mochi, the teas", user=OWNER)
        await here.wait_for(lambda: here.said()[-1:] == ["Enjoy."])
        await answered(here, asked, TRIGGER)
        texts = [one for one in here.ours() if one.content]
        assert [one.content for one in texts] == [
            "**Mochi**\nThe kettle is on.",
            "-# sent by a tool",
            "Look:",
            "Enjoy.",
        ]
        assert {one.webhook_id for one in texts} == {None}
        (file,) = [one for one in here.ours() if one.attachments]
        assert [one.filename for one in file.attachments] == ["table.csv"]
        assert file.webhook_id is None

    reply = Call("reply_to_message", '{"text": "The kettle is on."}')
    answer = "Look:\n```csv\ntea,minutes\ngreen,2\n```\nEnjoy."
    run_with_bot(scenario, reply, answer, display_mode="headline", reply_mode="off")
