"""Outages of models and of Discord: refused, hanging, gone and back. One row each.

Those of the database are in `tests/turns/test_database_outages.py` and
`tests/storage/test_writes_during_outages.py`, those of Redis in `tests/bot/test_redis_outages.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from discord_stage import SEND, TYPING, Fault
from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.model_servers.scripts import Cut, NoAnswer, Say, Stall
from tests.e2e.bot_harness import Answer, BotHarness, run_with_bot

SPEED = 30.0
LONG = Say("One.\nTwo.\nThr")
SILENCE = 10_000
"""In ms: how long the bot waits for a model that says nothing."""
UNREACHABLE = "The model could not be reached"
BROKE_OFF = "The answer broke off"
TOO_LATE = "The model took too long to answer"
HISTORY = "GET /channels/*/messages"


@pytest.fixture(autouse=True)
def nothing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """But for what discord.py itself says about a gateway that does not take it back."""
    yield
    errors = [one for one in caplog.get_records("call") if one.levelno >= logging.ERROR]
    assert {one.name for one in errors if one.exc_info} <= {"discord.shard"}


async def _nothing(_here: BotHarness) -> None:
    """The script itself is the outage."""


async def _shut(here: BotHarness) -> None:
    await here.model.shut()


async def _restarted(here: BotHarness) -> None:
    await here.model.shut()
    await here.model.reopen()


@dataclass(frozen=True, slots=True)
class ModelOutage:
    """What the first model plays, and what is done to it: before the question, or amid its answer.

    `shown` is the part of its answer that stands in the channel in the end.
    """

    name: str
    notice: str
    plays: tuple[Answer, ...] = ()
    before: Callable[[BotHarness], Awaitable[None]] = _nothing
    amid: Callable[[BotHarness], Awaitable[None]] = _nothing
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


_SHOWN = ("One.", "Two.", "Thr")
MODEL_OUTAGES = (
    ModelOutage("refused", UNREACHABLE, before=_shut),
    ModelOutage("gone before the first byte", UNREACHABLE, (NoAnswer(),), amid=_shut),
    ModelOutage("hanging before the first byte", TOO_LATE, (NoAnswer(),)),
    ModelOutage("hanging before the first token", TOO_LATE, (Stall(),)),
    ModelOutage("hanging in mid-stream", TOO_LATE, ((LONG, Stall()),), shown=_SHOWN),
    ModelOutage("cut in mid-stream", BROKE_OFF, ((LONG, Cut()),), shown=_SHOWN),
    ModelOutage(
        "restarted in mid-stream", BROKE_OFF, ((LONG, Stall()),), amid=_restarted, shown=_SHOWN
    ),
)


@pytest.mark.parametrize("outage", MODEL_OUTAGES, ids=str)
@pytest.mark.parametrize("spare", [False, True], ids=["alone", "with a spare"])
def test_a_model(outage: ModelOutage, spare: bool) -> None:
    """Nothing shown: the spare answers, or it is told. Something shown: it stays, and is told."""
    answered = spare and not outage.shown

    async def scenario(here: BotHarness) -> None:
        await outage.before(here)
        here.ask("hello")
        if outage.plays:
            await here.asked_times(1)
            await here.wait_for(lambda: len(here.said()) >= len(outage.shown) - 1)
        await outage.amid(here)
        said = [*outage.shown, "From the spare." if answered else ""]
        await here.says(*said)
        assert here.notices() == ([] if answered else [outage.notice])
        await here.model.reopen()
        here.model.forget()
        here.model.play(Say("Back."))
        here.ask("and now?")
        await here.says(*said, "Back.")

    scripts = [["From the spare."]] if spare else []
    run_with_bot(
        scenario, *outage.plays, scripts=scripts, speed=SPEED, inactivity_timeout_ms=SILENCE
    )


# -- Discord -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="reset", times=3),
        Fault(kind="close", times=3),
        Fault(kind="close", times=3, after=True),
        Fault(kind="hang", times=2),
        Fault(kind="hang", times=1, after=True),
        Fault(kind="status", status=503, times=3),
        Fault(kind="html", status=502, times=3),
    ],
    ids=["reset", "closed", "closed after", "hanging", "hanging after", "503", "502 in HTML"],
)
@pytest.mark.parametrize("route", [SEND, HISTORY, TYPING], ids=["send", "history", "typing"])
def test_requests_to_discord(fault: Fault, route: str) -> None:
    """Whatever request it is, every line arrives once and in order."""

    async def scenario(here: BotHarness) -> None:
        set_up = here.stage.fault(replace(fault, route=route, channel="general"))
        here.ask("hello")
        await here.says("One.", "Two.")
        assert here.stage.faults.struck(set_up) > 0
        assert here.notices() == []

    run_with_bot(scenario, "One.\nTwo.", speed=SPEED)


def test_without_the_history_the_model_reads_what_the_bot_has_received() -> None:
    async def scenario(here: BotHarness) -> None:
        here.stage.fault(Fault(kind="hang", route=HISTORY, times=None))
        here.post("the kettle is on", user="mika")
        here.post("not here", user="mika", channel="logs")
        here.ask("hello")
        await here.says("Hi.")
        assert "mika: the kettle is on" in here.asked().text
        assert "not here" not in here.asked().text

    run_with_bot(scenario, "Hi.", speed=SPEED)


@dataclass(frozen=True, slots=True)
class GatewayOutage:
    """How the gateway goes; `noticed` tells whether the bot has noticed it."""

    name: str
    go: Callable[[SessionHub], None]
    noticed: Callable[[SessionHub], object]
    resumes: bool = True
    """Else the session is lost, and what happened meanwhile has to be looked up."""

    def __str__(self) -> str:
        return self.name


def _refuse(gateway: SessionHub) -> None:
    gateway.refuses = True
    gateway.drop()


def _restart(gateway: SessionHub) -> None:
    _refuse(gateway)
    gateway.sessions.clear()


GATEWAY_OUTAGES = (
    GatewayOutage("cut", SessionHub.drop, lambda gateway: gateway.resumed),
    GatewayOutage("refused", _refuse, lambda gateway: gateway.refused > 1, resumes=False),
    GatewayOutage("restarted", _restart, lambda gateway: gateway.refused > 1, resumes=False),
    GatewayOutage("hanging", SessionHub.freeze, lambda gateway: gateway.resumed),
)


@pytest.mark.parametrize("outage", GATEWAY_OUTAGES, ids=str)
def test_the_gateway(outage: GatewayOutage) -> None:
    """A running answer goes on, and a question that is asked meanwhile is answered once."""

    async def scenario(here: BotHarness) -> None:
        gateway = here.stage.gateway
        here.ask("hello")
        await here.asked_times(1)
        outage.go(gateway)
        here.ask("still there?", channel="logs")
        await here.wait_for(lambda: outage.noticed(gateway))
        await here.wait_for(lambda: here.said("general") == ["One.", "Two."])
        gateway.refuses, gateway.acknowledges = False, True
        await here.says("Back.", channel="logs")
        assert here.said("general") == ["One.", "Two."]
        assert (gateway.resumed, gateway.identified) == ((1, 1) if outage.resumes else (0, 2))

    run_with_bot(scenario, "One.\nTwo.", "Back.", speed=SPEED)
