"""The line that says what the bot does, on the stage: with versions, deletion and thoughts."""

from __future__ import annotations

import json
from typing import Any

from discord_stage.model_servers.scripts import Call, Say, Think
from tests.bot.client_harness import MEMBER
from tests.e2e import bad_tools
from tests.e2e.bot_harness import Answer, BotHarness, run_with_bot
from tests.e2e.test_answer_buttons import ROW, SWIPES, edited, has, labels, last, press
from tests.e2e.test_tools import results

SLOW = "tests.e2e.bad_tools"


def call(name: str, id_: str = "call_0", **args: object) -> Call:
    return Call(name, json.dumps(args), id_)


def working(here: BotHarness) -> list[str]:
    return [one for one in here.said() if one.startswith("-# ⚙️")]


def test_a_stop_removes_it() -> None:
    async def scenario(here: BotHarness) -> None:
        bad_tools.STARTED.clear()
        here.ask("wait for it")
        await here.wait_for(lambda: working(here) == ["-# ⚙️ `wait_forever` …"])
        (line,) = here.ours()
        assert line.notified == []
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.idle()
        await here.wait_for(lambda: not here.ours())

    run_with_bot(scenario, [call("wait_forever")], tools=SLOW, working_line="keep", speed=5.0)


def test_one_that_stays_goes_with_its_answer_and_is_never_a_part_of_it() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("wait for it")
        await has(here, *ROW)
        line, answer = here.ours()
        assert line.content.startswith("-# ⚙️ `wait_forever` failed after ")
        assert answer.content == "It did not end."
        assert answer.reference is None
        assert labels(line) == []
        assert "did not end within" in results(here)[0]
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        assert here.said() == ["Never mind."]
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        assert here.said() == ["It did not end."]
        here.ask("what did you say?")
        await here.wait_for(lambda: here.said()[-1] == "That.")
        await here.idle()
        assert here.asked().of("assistant") == ["It did not end."]

    given: dict[str, Any] = {**SWIPES, "tool_timeout_ms": 20_000, "reply_mode": "auto"}
    answers = ([call("wait_forever")], "It did not end.", "Never mind.", "That.")
    run_with_bot(scenario, *answers, tools=SLOW, working_line="keep", speed=5.0, **given)


def test_shown_thoughts_are_no_part_of_a_version_or_an_edit() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await has(here, *ROW)
        assert [one[:4] for one in here.said()] == ["One.", "-# 💭"]
        assert "I have said this" in await edited(here, "First.", message=0)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        assert [one for one in here.said() if "💭" not in one] == ["First."]
        here.ask("what did you say?")
        await here.wait_for(lambda: "Three." in here.said())
        await here.idle()
        assert here.asked().of("assistant") == ["First."]
        exchanges = await here.db.memory.recent(here.id_of("general"), 10)
        assert exchanges[0].answered == "First."
        assert last(here).content

    answers: tuple[Answer, ...] = ([Think("Hm."), Say("One.")], "Two.", "Three.")
    given: dict[str, Any] = {"answer_editing": "asker", "reasoning_display": "subtext"}
    run_with_bot(scenario, *answers, **SWIPES, **given)
