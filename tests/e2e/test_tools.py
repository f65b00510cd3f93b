"""Tools: built in, in parallel, from MCP servers; and tools that misbehave."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from discord_stage.model_servers.scripts import Call, Say
from tests.e2e.bad_tools import STARTED
from tests.e2e.bot_harness import BotHarness, run_with_bot

SERVER = Path(__file__).parents[1] / "tools" / "mcp_server.py"
MCP = {"desk": {"command": sys.executable, "args": [str(SERVER)]}}


def call(name: str, id_: str = "call_0", **args: object) -> Call:
    return Call(name, json.dumps(args), id_)


def results(here: BotHarness, number: int = -1) -> list[str]:
    """What tools answered in a request."""
    return here.asked(number).of("tool")


def test_what_is_remembered_is_known_in_the_next_turn() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("keep in mind what I drink")
        await here.says("Let me note that.", "Noted.")
        assert len(here.model.requests) == 2
        assert results(here) == ["Remembered as #1."]
        here.ask("what do I drink?")
        await here.says("Let me note that.", "Noted.", "Oolong.")
        assert "Notes that you were asked to keep:\n- Renny drinks oolong." in here.asked().text

    remember = call("remember", fact="Renny drinks oolong.")
    run_with_bot(scenario, [Say("Let me note that."), remember], "Noted.", "Oolong.")


def test_parallel_calls_are_answered_in_order() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("wave and tell me where we are")
        await here.says("We are in general.")
        place, wave, wrong = results(here)
        assert json.loads(place)["channel"] == "general"
        assert wave == "Done."
        assert "no tool 'teleport'" in wrong
        assert here.reactions(asked) == ["wave"]
        calls = next(turn for turn in here.asked().request.json["messages"] if "tool_calls" in turn)
        assert [one["id"] for one in calls["tool_calls"]] == ["a", "b", "c"]

    calls = [call("server_info", "a"), call("react", "b", emoji=":wave:"), call("teleport", "c")]
    run_with_bot(scenario, calls, "We are in general.")


def test_a_tool_of_an_mcp_server() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("two and three?")
        await here.says("Five.")
        assert "add" in here.asked(0).tools
        assert results(here) == ["5"]

    run_with_bot(scenario, call("add", a=2, b=3), "Five.", mcp_servers=MCP)


@pytest.mark.slow
def test_an_mcp_server_that_dies_in_a_call_is_there_again_for_the_next() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("break it")
        await here.says("It broke.", "But it is back: 5.")
        (broken,) = results(here, 1)
        assert "desk broke off" in broken
        assert results(here, 2) == [broken, "5"]
        assert here.notices() == []

    run_with_bot(
        scenario,
        call("die"),
        [Say("It broke.\n"), call("add", "call_1", a=2, b=3)],
        "But it is back: 5.",
        mcp_servers=MCP,
    )


def test_a_tool_that_hangs_and_one_that_says_far_too_much() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("go")
        await here.says("Neither worked.")
        hung, huge = results(here)
        assert hung == "wait_forever did not end within 30 s"
        assert huge.startswith("xxxx")
        assert len(huge) < 1100
        assert len(here.asked().request.body) < 20_000
        assert here.notices() == []

    calls = [call("wait_forever", "a"), call("ten_megabytes", "b")]
    limits: dict[str, Any] = {"tool_timeout_ms": 30_000, "tool_result_limit_chars": 1000}
    tools = "tests.e2e.bad_tools"
    run_with_bot(scenario, calls, "Neither worked.", tools=tools, speed=50.0, **limits)


def test_a_stop_ends_a_tool_too() -> None:
    async def scenario(here: BotHarness) -> None:
        STARTED.clear()
        here.ask("wait for it")
        await here.wait_for(lambda: STARTED == ["wait_forever"])
        assert here.said() == ["One moment."]
        assert await here.run("stop", user="ren") == "Stopped."
        await here.idle()
        assert here.said() == ["One moment."]
        assert len(here.model.requests) == 1
        here.ask("still there?")
        await here.says("One moment.", "Yes.")

    run_with_bot(
        scenario, [Say("One moment."), call("wait_forever")], "Yes.", tools="tests.e2e.bad_tools"
    )


def test_a_table_is_a_picture_with_its_text_behind_a_button() -> None:
    source = "| tea | minutes |\n|---|---|\n| green | 2 |\n| black | 4 |"

    async def scenario(here: BotHarness) -> None:
        here.ask("how long?")
        await here.wait_for(lambda: len(here.ours()) == 3)
        await here.idle()
        before, table, after = here.ours()
        assert (before.content, table.content, after.content) == ("Like this:", "", "Enjoy!")
        (picture,) = table.attachments
        assert picture.content_type == "image/png"
        assert picture.content.startswith(b"\x89PNG")
        assert "green" in (picture.description or "")
        shown = await here.private(here.stage.people.press(table, "Show text"))
        assert source in shown
        here.ask("and white tea?")
        await here.wait_for(lambda: "Three." in here.said())
        assert f"Like this:\n{source}\nEnjoy!" in "\n".join(here.asked().of("assistant"))

    run_with_bot(scenario, f"Like this:\n\n{source}\n\nEnjoy!", "Three.")


def test_a_table_of_very_many_rows_is_a_file_that_is_remembered() -> None:
    rows = "\n".join(f"|{number}|x|" for number in range(1200))
    source = f"|n|v|\n|---|---|\n{rows}"

    async def scenario(here: BotHarness) -> None:
        here.ask("all of them?")
        await here.wait_for(lambda: len(here.ours()) == 3)
        await here.idle()
        _before, table, after = here.ours()
        assert (table.content, after.content) == ("", "Enjoy!")
        (file,) = table.attachments
        assert file.filename == "table-1.md"
        assert file.content.decode() == f"{source}\n"
        assert (file.description or "").startswith("n: 0, v: x\nn: 1, v: x")
        assert table.components == []  # the file is the text already
        here.ask("and then?")
        await here.wait_for(lambda: "Nothing." in here.said())
        assert f"Like this:\n{source}\nEnjoy!" in "\n".join(here.asked().of("assistant"))

    run_with_bot(scenario, f"Like this:\n\n{source}\n\nEnjoy!", "Nothing.")
