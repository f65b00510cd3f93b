"""The line that says what the bot does: when it comes, how seldom it changes, and what it hides."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.bot.tools import ToolBox, tool
from oshaberi.bot.turns.running.working_line import (
    CHANGE_SECONDS,
    LATE_CHANGE_SECONDS,
    MANY_CHANGES,
    Activity,
    WorkingLine,
    shown_activities,
)
from oshaberi.chunks import Chunk, ThoughtPart, ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import ScriptedProvider, Silence, Step, Stop
from oshaberi.text.config import TextConfig
from tests.turns.turn_harness import ALICE, CHANNEL, TurnHarness, calls, run_turns, text

SECRET = "sk-abcdefghijklmnopqrstuvwx"


@tool
async def dig(where: str, seconds: float = 5.0) -> str:
    """Dig."""
    await asyncio.sleep(seconds)
    return f"dug in {where}"


@tool
async def stumble() -> str:
    """Stumble."""
    await asyncio.sleep(2.0)
    raise RuntimeError(SECRET)


def thoughts(words: str) -> Chunk:
    return Chunk("text", thoughts=(ThoughtPart(words),))


def called(name: str, number: int = 0, **args: Any) -> ToolCall:
    return ToolCall(name, args, f"call_{number}")


Record = dict[str, Any]


def records(here: TurnHarness) -> list[Record]:
    """What became of the lines beside the answer: sent, changed, deleted; with the time."""
    sent = [one for one in here.turn_channel.channel.records if one["kind"] in KINDS]
    lines = {one["id"] for one in sent if one["kind"] == "message" and is_line(one)}
    return [one for one in sent if one["id"] in lines]


KINDS = ("message", "edit", "delete")


def is_line(record: Record) -> bool:
    return "\u2699" in record["content"]


def texts(here: TurnHarness) -> list[str]:
    return [one["content"] for one in records(here) if one["kind"] != "delete"]


def left(here: TurnHarness) -> list[str]:
    """What stands in the channel at the end."""
    return [one.post.content for one in here.turn_channel.channel.posted if not one.deleted]


def play(*scripts: Sequence[Step], mode: str = "while", **more: Any) -> TurnHarness:
    async def scenario(here: TurnHarness) -> TurnHarness:
        here.change(tools=ToolBox([dig, stumble]))
        await here.answer("go")
        return here

    turn = {"working_line": mode, **more}
    return run_turns(scenario, *scripts, turn=turn, stream=AT_ONCE)


AT_ONCE = StreamConfig(text=TextConfig(humanizer_degree=1))
DIG: list[Step] = [calls(called("dig", where=SECRET))]
THINK: list[Step] = [thoughts("Let me see."), Silence(4200), text("Tea.")]


# -- when it comes, and what it says -------------------------------------------------------------


def test_it_is_off_by_default() -> None:
    here = play(DIG, [text("Done.")], mode="off")
    assert texts(here) == []
    assert left(here) == ["Done."]


def test_a_tool_that_takes_its_time_is_named_and_gone_at_the_end() -> None:
    here = play(DIG, [Silence(4000), text("Done.")])
    assert [one["kind"] for one in records(here)] == ["message", "edit", "delete"]
    assert texts(here) == ["-# ⚙️ `dig` …", "-# ⚙️ `dig` 5.0 s"]
    assert left(here) == ["Done."]
    assert records(here)[0]["at_ms"] == 1000


def test_it_stays_if_it_is_to_stay_and_belongs_to_the_answer() -> None:
    here = play(DIG, [text("Done.")], mode="keep")
    assert left(here) == ["-# ⚙️ `dig` 5.0 s", "Done."]


def test_what_takes_a_moment_is_not_worth_a_line() -> None:
    quick = [calls(called("dig", where="here", seconds=0.9))]
    for mode in ("while", "keep"):
        here = play(quick, [text("Done.")], mode=mode)
        assert texts(here) == []


def test_thinking_has_a_time_too() -> None:
    here = play(THINK, mode="keep")
    assert texts(here)[0] == "-# ⚙️ thinking …"
    assert left(here) == ["-# ⚙️ thought for 4.2 s", "Tea."]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_thoughts_between_tags_are_thinking(size: int) -> None:
    words = "<think>Let me see. Is it < or >?</think>Tea."
    pieces = [text(words[at : at + size]) for at in range(0, len(words), size)]
    middle = len(pieces) // 2
    script: list[Step] = [*pieces[:middle], Silence(3000), *pieces[middle:]]
    whole: list[Step] = [*pieces, Silence(3000)]
    here = play(script if size < 100 else whole, mode="keep")
    assert left(here)[-1] == "Tea."
    assert bool(texts(here)) == (size < 100)
    if size < 100:
        assert left(here)[0] == "-# ⚙️ thought for 3.0 s"


def test_words_are_no_thinking() -> None:
    here = play([text("<thin"), text("gs> are "), Silence(5000), text("here.")])
    assert texts(here) == []


def test_thinking_then_tools_then_thinking() -> None:
    first: list[Step] = [
        thoughts("Hm."),
        Silence(2000),
        calls(called("dig", where="a"), called("stumble", 1)),
    ]
    second: list[Step] = [thoughts("Ah."), Silence(12_000), text("Done.")]
    here = play(first, second, mode="keep")
    assert left(here)[0] == (
        "-# ⚙️ thought for 2.0 s · `dig` 5.0 s · `stumble` failed after 2.0 s · thought for 12 s"
    )


def test_neither_arguments_nor_results_nor_errors_stand_in_it() -> None:
    script: list[Step] = [calls(called("dig", where=SECRET), called("stumble", 1))]
    wrong: list[Step] = [calls(called(SECRET, 2), called("dig", 3, nonsense=SECRET))]
    here = play(script, wrong, [text("Done.")], mode="keep")
    assert len(texts(here)) > 1
    assert not any(SECRET in one or "dug" in one or "Error" in one for one in texts(here))


# -- few changes ---------------------------------------------------------------------------------


def test_changes_are_few() -> None:
    rounds = [[calls(called("dig", where="x", seconds=0.4))] for _ in range(60)]
    here = play([calls(called("dig", where="x"))], *rounds, [text("Done.")])
    at = [one["at_ms"] for one in records(here)]
    gaps = [later - earlier for earlier, later in pairwise(at[:-1])]
    assert min(gaps) >= 1000 * CHANGE_SECONDS
    assert all(gap >= 1000 * LATE_CHANGE_SECONDS for gap in gaps[MANY_CHANGES + 1 :])


def test_very_many_tools_fit_into_one_line() -> None:
    many = [Activity(f"{'tool' * 15}_{number}", 0.0, 1.0) for number in range(500)]
    shown = shown_activities(many)
    assert len(shown) < 1000
    assert shown.startswith("-# ⚙️ … · ")
    assert shown_activities([Activity("dig", 0.0, 1.0)] * 30) == "-# ⚙️ `dig` ×30 30 s"


# -- stops, silence and the history --------------------------------------------------------------


@pytest.mark.parametrize("mode", ["while", "keep"])
def test_after_a_stop_nothing_is_sent_and_the_line_is_gone(mode: str) -> None:
    async def scenario(here: TurnHarness) -> None:
        here.change(tools=ToolBox([dig]))
        await here.hear("go")
        await asyncio.sleep(3.0)
        assert texts(here) == ["-# ⚙️ `dig` …"]
        here.channel_turns.stop(CHANNEL, ALICE.id, False)
        stopped_ms = 1000 * asyncio.get_running_loop().time()
        await here.channel_turns.idle()
        assert left(here) == []
        assert [one["kind"] for one in records(here)] == ["message", "delete"]
        assert records(here)[-1]["at_ms"] - stopped_ms < 1000
        await asyncio.sleep(30)
        assert len(records(here)) == 2

    slow: list[Step] = [calls(called("dig", where="x", seconds=30.0))]
    run_turns(scenario, slow, turn={"working_line": mode}, stream=AT_ONCE)


def test_a_stop_while_it_thinks_comes_before_the_line() -> None:
    here = play([thoughts("Hm."), Silence(900), Stop(str(ALICE.id)), Silence(5000), text("Tea.")])
    assert texts(here) == []


def test_the_model_does_not_read_it() -> None:
    async def scenario(here: TurnHarness) -> None:
        here.change(tools=ToolBox([dig]))
        await here.answer("go")
        await here.answer("and?")
        assert "Done." in str(here.models.requests[-1].items)
        assert "dig" not in str(here.models.requests[-1].items)

    turn = {"working_line": "keep"}
    run_turns(scenario, DIG, [text("Done.")], [text("Yes.")], turn=turn, stream=AT_ONCE)


def test_where_the_bot_listens_there_is_one_unless_the_model_says_nothing() -> None:
    async def scenario(here: TurnHarness) -> None:
        await here.answer("hello?", mention=False)
        assert left(here) == ["-# ⚙️ thought for 4.2 s", "Tea."]
        await here.answer("hm.", mention=False)
        assert left(here) == ["-# ⚙️ thought for 4.2 s", "Tea."]

    silent: list[Step] = [thoughts("Not for me."), Silence(4200), text("NO_REPLY")]
    turn = {"working_line": "keep", "auto_channels": (CHANNEL,)}
    run_turns(scenario, THINK, silent, turn=turn, stream=AT_ONCE)


def test_nobody_sees_that_the_bot_reads_what_was_not_for_it() -> None:
    async def scenario(here: TurnHarness) -> None:
        await here.answer("so what?", mention=False)
        assert len(here.models.requests) == 1
        assert texts(here) == []

    turn = {"working_line": "keep", "interjection_chance": 1.0}
    run_turns(scenario, THINK, turn=turn, stream=AT_ONCE)


# -- thoughts however they are cut ---------------------------------------------------------------


@given(st.lists(st.integers(1, 12), min_size=1, max_size=30))
def test_tags_are_found_however_the_stream_is_cut(sizes: list[int]) -> None:
    words = "\n<Think>a </thin b </think>c <think>d"
    noted: list[bool] = []

    class Noted(WorkingLine):
        def __init__(self) -> None:
            pass

        def think(self, *, thinks: bool) -> None:
            noted.append(thinks)

    provider = Noted().opened(ScriptedProvider([]), StreamConfig(), StreamContext("1"))
    at = 0
    for size in [*sizes, len(words)]:
        if words[at : at + size]:
            provider.normalise(text(words[at : at + size]))
        at += size
    assert noted[-1] is False
