"""Successes that say nothing of use, and webhooks that never succeed: no answer vanishes."""

from __future__ import annotations

import logging

import pytest

from discord_stage import SEND, WEBHOOK, Fault, Settings
from oshaberi.text.config import Persona
from tests.discord_io.sink_harness import SinkHarness, run_with_sinks

NO_LIMITS = Settings(rate_limits=False)
AKI = Persona("Aki", is_alter=True)
LINES = "one\ntwo\n"
BODIES = ("{}", "[]", "null", "", '"done"', '{"id": null}', '{"id": "soon"}', '{"id": {}}')
FIND_WEBHOOK = "GET /channels/*/webhooks"
MAKE_WEBHOOK = "POST /channels/*/webhooks"
HISTORY = "GET /channels/*/messages"
SPEED = 100.0


async def told(harness: SinkHarness, persona: Persona | None = None) -> list[str]:
    """What stands in the channel after two lines."""
    result = await harness.play("general", LINES, text={"persona": persona})
    assert (result.status, result.undelivered) == ("completed", "")
    return harness.contents("general")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("body", BODIES)
def test_an_odd_answer_to_a_message_of_the_bot(body: str, watched: bool, after: bool) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="body", body=body, route=SEND, after=after))
        assert await told(harness) == ["one", "two"]

    run_with_sinks(scenario, settings=NO_LIMITS, watched=watched, speed=SPEED)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("body", BODIES)
def test_an_odd_answer_to_a_message_of_a_webhook(body: str, after: bool) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="body", body=body, route=WEBHOOK, after=after))
        assert await told(harness, AKI) == ["one", "two"]
        assert all(message.webhook_id for message in harness.messages("general"))

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)


@pytest.mark.parametrize("via", [SEND, WEBHOOK])
def test_what_arrived_is_found_though_every_answer_is_odd(via: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="body", route=via, after=True, times=None))
        assert await told(harness, AKI if via == WEBHOOK else None) == ["one", "two"]

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("route", [FIND_WEBHOOK, MAKE_WEBHOOK])
def test_an_odd_answer_about_the_webhook_is_asked_again(route: str, body: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="body", body=body, route=route))
        assert await told(harness, AKI) == ["one", "two"]
        assert all(message.webhook_id for message in harness.messages("general"))

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)


@pytest.mark.parametrize("route", [FIND_WEBHOOK, MAKE_WEBHOOK])
def test_without_a_useful_answer_about_the_webhook_the_bot_speaks(route: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="body", body="null", route=route, times=None))
        assert await told(harness, AKI) == ["**Aki**: one", "two"]

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)


@pytest.mark.parametrize("body", ["{}", "null", "", '[{"id": "1"}]', "[null]"])
def test_an_odd_history_is_no_witness(body: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", status=500, route=WEBHOOK, after=True))
        harness.stage.fault(Fault(kind="event_lost", route=WEBHOOK))
        harness.stage.fault(Fault(kind="body", body=body, route=HISTORY))
        assert await told(harness, AKI) == ["one", "two"]

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="status", status=500, route=WEBHOOK, times=None),
        Fault(kind="body", body="{}", route=WEBHOOK, times=None),
        Fault(kind="reset", route=WEBHOOK, times=None),
    ],
    ids=["500", "an empty object", "reset"],
)
def test_a_webhook_that_always_fails_gives_way_to_the_bot(
    fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(fault)
        with caplog.at_level(logging.WARNING, logger="oshaberi"):
            assert await told(harness, AKI) == ["**Aki**: one", "two"]
        assert "speaking as the bot" in caplog.text

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)


def test_a_webhook_that_fails_but_writes_is_not_doubled_by_the_bot() -> None:
    async def scenario(harness: SinkHarness) -> None:
        fault = Fault(kind="status", status=500, route=WEBHOOK, after=True, times=None)
        harness.stage.fault(fault)
        assert await told(harness, AKI) == ["one", "two"]

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(kind="status", status=500, route=SEND, times=None), "HTTP 500"),
        (Fault(kind="body", route=SEND, times=None), "without a message"),
        (Fault(kind="code", code=200000, route=SEND, times=None), "200000"),
    ],
)
def test_what_is_not_delivered_is_told_with_its_reason(
    fault: Fault, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(fault)
        with caplog.at_level(logging.WARNING, logger="oshaberi"):
            result = await harness.play("general", "one\ntwo\nthree\n")
        assert result.status == "error"
        assert result.undelivered == "one\ntwo\nthree"
        warned = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
        assert any(reason in line for line in warned), warned

    run_with_sinks(scenario, settings=NO_LIMITS, speed=SPEED)
