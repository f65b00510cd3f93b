"""What discord.py does on the network, as the sender gets to know it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from discord_stage import Fault, RefusalError, Settings
from discord_stage.requests.injected_faults import SEND, TYPING
from oshaberi.delivery.sink import AmbiguousError, DiscordRefusalError, Post, WireState
from oshaberi.discord_io import DiscordSink, TokenRevokedError
from tests.discord_io.sink_harness import SinkHarness, run_with_sinks

NO_LIMITS = Settings(rate_limits=False)
LONG_WINDOW = Settings(time_scale=0.1)
"""A bucket of five is free again after 50 seconds: a busy machine does not take as long."""


def now() -> float:
    return asyncio.get_running_loop().time()


def sink_of(harness: SinkHarness, name: str = "general") -> DiscordSink:
    return harness.bot.client_state.sink(harness.channel(name))


async def send(sink: DiscordSink, text: str, wire: WireState | None = None) -> None:
    await sink.send(Post(f"n-{text}", text), wire or WireState(now()))


def test_answers_as_soon_as_discord_did() -> None:
    """discord.py itself returns from the send that empties a bucket only when it fills again."""

    async def scenario(harness: SinkHarness) -> None:
        sink = sink_of(harness)
        began = now()
        for number in range(5):
            await send(sink, f"text {number}")
        assert now() - began < 20
        wire = WireState(now())
        sixth = asyncio.create_task(send(sink, "text 5", wire))
        await asyncio.sleep(1)
        assert not wire.on_wire
        await sixth
        assert wire.on_wire
        assert wire.left_at - began >= 45
        assert len(harness.contents("general")) == 6
        assert [call.status for call in harness.stage.calls(SEND)] == [200] * 6

    run_with_sinks(scenario, settings=LONG_WINDOW, speed=80.0)


def test_a_rate_limit_that_was_not_foreseen_is_no_time_on_the_wire() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", status=429, retry_after_s=8.0, route=SEND))
        wire = WireState(now())
        sending = asyncio.create_task(send(sink_of(harness), "text", wire))
        await refused(harness, SEND, wire)
        assert not sending.done()
        await sending
        assert harness.contents("general") == ["text"]

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_cancelled_while_it_waits_it_never_leaves() -> None:
    async def scenario(harness: SinkHarness) -> None:
        sink = sink_of(harness)
        for number in range(5):
            await send(sink, f"text {number}")
        waiting = asyncio.create_task(send(sink, "withdrawn"))
        await asyncio.sleep(0.5)
        waiting.cancel()
        await asyncio.wait({waiting})
        await send(sink, "after")
        assert harness.contents("general")[5:] == ["after"]

    run_with_sinks(scenario, settings=LONG_WINDOW, speed=80.0)


def test_cancelled_in_a_global_pause_the_client_goes_on() -> None:
    """discord.py would keep every other request waiting for ever."""

    async def scenario(harness: SinkHarness) -> None:
        strike_globally(harness)
        wire = WireState(now())
        waiting = asyncio.create_task(send(sink_of(harness), "withdrawn", wire))
        await refused(harness, SEND, wire)
        waiting.cancel()
        await asyncio.wait({waiting})
        async with asyncio.timeout(300):
            await send(sink_of(harness, "random"), "elsewhere")
            await send(sink_of(harness), "after")
        assert harness.contents("random") == ["elsewhere"]
        assert harness.contents("general") == ["after"]

    run_with_sinks(scenario, settings=LONG_WINDOW, speed=8.0)


def strike_globally(harness: SinkHarness) -> None:
    """Use up the requests that are left of this window, so that the next one pauses all."""
    with suppress(RefusalError):
        while True:
            harness.stage.state.limits.enter(None, "", global_too=True)


async def refused(harness: SinkHarness, route: str, wire: WireState | None = None) -> None:
    """The 429 has been read by discord.py, which now sleeps for it."""
    await harness.stage.wait_for(lambda: [c for c in harness.stage.calls(route) if c.status == 429])
    if wire is None:
        await asyncio.sleep(0.5)
        return
    while wire.on_wire:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 524, 530])
def test_one_request_per_call_whatever_the_5xx(status: int) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", status=status, route=SEND))
        with pytest.raises(AmbiguousError):
            await send(sink_of(harness), "text")
        await asyncio.sleep(5)
        assert len(harness.stage.calls(SEND)) == 1

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize(
    ("fault", "code", "retry_after_ms"),
    [
        ({"kind": "code", "code": 50035}, 50035, None),
        ({"kind": "code", "code": 50013}, 50013, None),
        ({"kind": "code", "code": 20016, "retry_after_s": 7.0}, 20016, 7000),
        ({"kind": "status", "status": 429, "retry_after_s": 90.0}, 429, 90_000),
        ({"kind": "status", "status": 429, "retry_after_s": 3.0, "via": False}, 429, 3000),
        ({"kind": "status", "status": 404}, 404, None),
    ],
)
def test_refusals(fault: dict[str, Any], code: int, retry_after_ms: int | None) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(route=SEND, **fault))
        with pytest.raises(DiscordRefusalError) as refused:
            await send(sink_of(harness), "text")
        assert (refused.value.code, refused.value.retry_after_ms) == (code, retry_after_ms)

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "html", "status": 403},
        {"kind": "html", "status": 200, "after": True},
        {"kind": "reset"},
        {"kind": "close", "after": True},
    ],
)
def test_doubts(fault: dict[str, Any]) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(route=SEND, **fault))
        with pytest.raises(AmbiguousError):
            await send(sink_of(harness), "text")

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_revoked_token_has_an_error_of_its_own() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", status=401, route=SEND))
        with pytest.raises(TokenRevokedError):
            await send(sink_of(harness), "text")

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_the_same_nonce_after_its_message_was_deleted() -> None:
    async def scenario(harness: SinkHarness) -> None:
        sink = sink_of(harness)
        sent = await sink.send(Post("n", "text"), WireState(now()))
        assert sent.id is not None
        harness.stage.people.delete(sent.id)
        with pytest.raises(DiscordRefusalError) as refused:
            await sink.send(Post("n", "text"), WireState(now()))
        assert refused.value.code == 10008

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_typing_cancelled_before_it_leaves_is_not_shown_later() -> None:
    async def scenario(harness: SinkHarness) -> None:
        strike_globally(harness)
        typing = asyncio.create_task(sink_of(harness).typing(1000))
        await refused(harness, TYPING)
        typing.cancel()
        await asyncio.wait({typing})
        await send(sink_of(harness), "text")
        assert [call.status for call in harness.stage.calls(TYPING)] == [429]

    run_with_sinks(scenario, settings=LONG_WINDOW, speed=8.0)


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("after", [False, True])
def test_a_client_without_the_trace_sends_once_too(status: int, after: bool) -> None:
    """discord.py repeats some of them by itself, under the same nonce."""

    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", status=status, after=after, route=SEND))
        result = await harness.play("general", "one\ntwo\n")
        assert (result.status, harness.contents("general")) == ("completed", ["one", "two"])

    run_with_sinks(scenario, settings=NO_LIMITS, watched=False)
