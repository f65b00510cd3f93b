"""How long a tool waits for a person, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.bot.tools import ToolBox, tool
from oshaberi.bot.turns.running.tool_questions import HURRIED_SECONDS, REFUSED, TOO_LATE
from oshaberi.chunks import ToolCall
from oshaberi.stream.stops import ActiveChannel
from tests.turns.turn_harness import CHANNEL, TurnHarness, calls, run_turns, text

USED: list[str] = []


@tool(asks="asker")
async def order() -> str:
    """Order."""
    USED.append("order")
    return "Ordered."


def active(here: TurnHarness) -> ActiveChannel:
    return here.services.traffic.stops._channels[str(CHANNEL)]


async def asked(here: TurnHarness) -> float:
    """Ask the model something; returns when the tool has asked, with the time."""
    USED.clear()
    here.change(tools=ToolBox([order]))
    await here.hear("order, please")
    while not here.turn_channel.channel.posted:
        await asyncio.sleep(0.01)
    return asyncio.get_running_loop().time()


def result(here: TurnHarness) -> str:
    (round_,) = [one for one in here.models.requests[-1].items if hasattr(one, "results")]
    return str(round_.results[0].content)


SCRIPTS = ([calls(ToolCall("order"))], [text("So be it.")])


def test_it_waits_as_long_as_the_setting_says() -> None:
    async def scenario(here: TurnHarness) -> None:
        began = await asked(here)
        await here.channel_turns.idle()
        assert result(here) == TOO_LATE
        assert asyncio.get_running_loop().time() - began == pytest.approx(120, abs=2)
        assert USED == []

    run_turns(scenario, *SCRIPTS)


def test_it_waits_no_longer_while_others_wait_for_a_slot() -> None:
    async def scenario(here: TurnHarness) -> None:
        began = await asked(here)
        await asyncio.sleep(1.0)
        active(here).hurry()
        await here.channel_turns.idle()
        assert result(here) == TOO_LATE
        waited = asyncio.get_running_loop().time() - began
        assert waited == pytest.approx(1 + HURRIED_SECONDS, abs=2)

    run_turns(scenario, *SCRIPTS, turn={"tool_question_ms": 600_000})


@pytest.mark.parametrize("allowed", [True, False])
def test_a_decision_counts_until_the_last_moment_and_not_after_it(allowed: bool) -> None:
    async def decided(here: TurnHarness, after_s: float) -> bool:
        began = await asked(here)
        (question,) = here.services.answer_tools.questions._waiting.values()
        loop, done = asyncio.get_running_loop(), list[bool]()
        loop.call_at(began + after_s, lambda: done.append(question.decide(allowed=allowed)))
        await here.channel_turns.idle()
        await asyncio.sleep(5.0)
        assert not question.decide(allowed=True)
        return done == [True]

    async def in_time(here: TurnHarness) -> None:
        assert await decided(here, 4.9)
        assert result(here) == ("Ordered." if allowed else REFUSED)
        assert len(USED) == allowed

    async def too_late(here: TurnHarness) -> None:
        assert not await decided(here, 5.1)
        assert result(here) == TOO_LATE
        assert USED == []

    for scenario in (in_time, too_late):
        run_turns(scenario, *SCRIPTS, turn={"tool_question_ms": 5000})
