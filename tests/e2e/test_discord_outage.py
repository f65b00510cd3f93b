"""Discord's REST API is away for minutes: every question is answered once when it is back.

The gateway stays. `tests/bot/test_reconnecting.py` has its outages, `tests/e2e/test_outages.py`
single requests that fail.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
import discord
import pytest
from discord.http import Route

from discord_stage import SEND, Fault
from tests.bot.client_harness import world
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.free_ports import free_port

SPEED = 60.0
LONG_S = 130.0
"""Longer than a message is tried while Discord answers others."""
CHANNELS = tuple(f"room-{number}" for number in range(20))
ANSWER = "One.\nTwo."
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Shape:
    """How the API goes away and comes back."""

    name: str
    begin: Callable[[BotHarness], object]
    end: Callable[[BotHarness], object]

    def __str__(self) -> str:
        return self.name


def fault(**more: object) -> Callable[[BotHarness], object]:
    made = Fault(route=EVERYTHING, times=None, **more)  # type: ignore[arg-type]
    return lambda here: here.stage.fault(made)


def mended(here: BotHarness) -> None:
    here.stage.faults.clear()


def elsewhere(host: str) -> Callable[[BotHarness], object]:
    """Requests go to an address where nobody answers."""

    def begin(_here: BotHarness) -> None:
        Route.BASE = f"http://{host}/api/v10"

    return begin


def back_again(here: BotHarness) -> None:
    Route.BASE = f"{here.stage.url}/api/v10"


SHAPES = (
    Shape("503 everywhere", fault(kind="status", status=503), mended),
    Shape("502 in HTML", fault(kind="html", status=502), mended),
    Shape("a ban page", fault(kind="html", status=429), mended),
    Shape("closed connections", fault(kind="reset"), mended),
    Shape("refused connections", elsewhere("127.0.0.1:1"), back_again),
    Shape("no address", elsewhere("discord.invalid"), back_again),
    Shape("no answers", fault(kind="hang"), mended),
)


def replied_to(here: BotHarness) -> Counter[int]:
    """How often each question was replied to."""
    ours = [message for channel in CHANNELS for message in here.ours(channel)]
    return Counter(int(one.reference["message_id"]) for one in ours if one.reference)


@pytest.mark.parametrize(
    "shape",
    [SHAPES[0], *(pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES[1:])],
    ids=str,
)
def test_forty_questions_are_answered_once(shape: Shape, caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()

    async def scenario(here: BotHarness) -> None:
        asked = [here.ask("before", channel=channel) for channel in CHANNELS[:10]]
        await here.asked_times(1)
        shape.begin(here)
        asked += [here.ask("meanwhile", channel=channel) for channel in CHANNELS]
        away = await _until_away(port)
        assert away["parts"]["discord"].startswith("REST: no answers for ")
        assert away["parts"]["gateway"] == "ok"
        asked += [here.ask("later", channel=channel) for channel in CHANNELS[10:]]
        await asyncio.sleep(LONG_S)
        shape.end(here)
        await here.wait_for(lambda: len(replied_to(here)) == len(asked))
        await here.idle()
        assert replied_to(here) == Counter(asked)
        for channel in CHANNELS:
            assert here.said(channel) == ["One.", "Two."] * 2
            assert here.notices(channel) == []
        assert (await _health(port))["parts"]["discord"] == "ok"
        assert len(asked) == 40

    run_with_bot(
        scenario,
        *[ANSWER] * 40,
        speed=SPEED,
        described=world(*CHANNELS),
        follow_up_policy="queue",
        reply_mode="first",
        health_port=port,
    )
    told = [one for one in caplog.messages if one.startswith("Discord ")]
    assert [one.split(":")[0].split(",")[0] for one in told] == [
        "Discord is away",
        "Discord answers again",
    ]
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


async def _health(port: int, path: str = "health") -> dict[str, dict[str, str]]:
    url = f"http://127.0.0.1:{port}/{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        found: dict[str, dict[str, str]] = await answer.json()
        return found


async def _until_away(port: int) -> dict[str, dict[str, str]]:
    async with asyncio.timeout(120):
        while (found := await _health(port))["parts"]["discord"] == "ok":
            await asyncio.sleep(0.5)
    assert "REST" in str((await _health(port, "ready"))["problem"])
    return found


def test_beyond_the_patience_the_person_is_told() -> None:
    """Who waited, and whose answer could not be sent."""

    async def scenario(here: BotHarness) -> None:
        fault(kind="status", status=503)(here)
        here.ask("before", channel="room-0")
        outage = here.bot.services.outage
        assert outage is not None
        await here.wait_for(lambda: outage.is_away)
        here.ask("meanwhile", channel="room-1")
        await asyncio.sleep(LONG_S)
        mended(here)
        await here.wait_for(lambda: here.notices("room-0") and here.notices("room-1"))
        await here.idle()
        assert here.notices("room-0") == ["This answer is not complete"]
        assert here.notices("room-1") == ["I could not reach Discord"]
        assert here.said("room-0") == here.said("room-1") == [""]

    run_with_bot(
        scenario,
        ANSWER,
        ANSWER,
        speed=SPEED,
        described=world(*CHANNELS),
        discord_outage_patience_s=60,
    )


def test_one_channel_that_fails_is_no_outage() -> None:
    async def scenario(here: BotHarness) -> None:
        here.stage.fault(Fault(kind="status", status=503, route=SEND, channel="room-0", times=None))
        here.ask("hello", channel="room-0")
        await here.asked_times(1)
        await asyncio.sleep(60.0)
        here.ask("hello", channel="room-1")
        await here.wait_for(lambda: here.said("room-1") == ["One.", "Two."])
        outage = here.bot.services.outage
        assert outage is not None
        assert outage.count == 0
        mended(here)
        await here.says("One.", "Two.", channel="room-0")

    run_with_bot(scenario, ANSWER, ANSWER, speed=SPEED, described=world(*CHANNELS))


def test_a_request_without_an_answer_does_not_outlast_the_outage() -> None:
    """It would hold up the others of its bucket for five minutes."""

    async def scenario(here: BotHarness) -> None:
        here.stage.fault(Fault(kind="hang", route="GET /channels/*/messages", times=1))
        channel = here.bot.client.get_channel(here.id_of("room-0"))
        assert isinstance(channel, discord.TextChannel)
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(TimeoutError):
            [message async for message in channel.history(limit=1)]
        assert loop.time() - began < 60.0

    run_with_bot(scenario, speed=SPEED, described=world(*CHANNELS))
