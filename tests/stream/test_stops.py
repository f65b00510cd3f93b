"""The stop registry: who may stop what, and what becomes of a request (spec 04 O2, O2a)."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.chunks import Chunk
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.stream import (
    ScriptedProvider,
    Silence,
    StreamConfig,
    StreamContext,
    StreamResult,
    stream_to_sink,
)
from oshaberi.stream.stops import (
    SETTLE_SECONDS,
    StopAnswer,
    StopRegistry,
    StopRequest,
)
from oshaberi.virtual_time import run_virtual

USER, OTHER = "77", "88"
STOP = StopRequest(USER)
SYSTEM = StopRequest(OTHER, "system_request")
FOLLOW_UP = StopRequest(USER, follow_up=True)


def put(registry: StopRegistry, request: StopRequest) -> bool:
    if request.follow_up:
        return registry.request_follow_up("c", request.by)
    return registry.request_stop("c", request.by, request.reason)


@pytest.mark.parametrize("request_", [STOP, SYSTEM, FOLLOW_UP])
def test_an_idle_channel_refuses_and_forgets(request_: StopRequest) -> None:
    registry = StopRegistry()
    assert put(registry, request_) is False
    with registry.active("c"):
        assert registry.peek("c") is None


@pytest.mark.parametrize(
    ("requests", "winner"),
    [
        ([STOP, SYSTEM], STOP),
        ([SYSTEM, STOP], SYSTEM),
        ([FOLLOW_UP, STOP], STOP),
        ([STOP, FOLLOW_UP], STOP),
        ([FOLLOW_UP, SYSTEM, STOP], SYSTEM),
        ([FOLLOW_UP, StopRequest(OTHER, follow_up=True)], FOLLOW_UP),
    ],
)
def test_which_of_several_wins(requests: list[StopRequest], winner: StopRequest) -> None:
    registry = StopRegistry()
    with registry.active("c"):
        for request in requests:
            assert put(registry, request) is True
        assert registry.peek("c") == winner
        assert registry.consume("c") == winner
        assert registry.consume("c") is None


def test_only_the_user_of_the_turn_interrupts() -> None:
    registry = StopRegistry()
    with registry.active("c", user=USER):
        assert registry.request_follow_up("c", OTHER) is False
        assert registry.peek("c") is None
        assert registry.request_follow_up("c", USER) is True


def test_anybody_admitted_may_stop_a_turn() -> None:
    registry = StopRegistry()
    with registry.active("c", user=USER):
        assert registry.request_stop("c", OTHER) is True


def test_channels_do_not_hear_each_other() -> None:
    registry = StopRegistry()
    with registry.active("a") as a, registry.active("b") as b:
        registry.request_stop("a", USER)
        assert (a.pending, b.pending) == (STOP, None)


def test_a_request_lasts_from_stream_to_stream_but_not_beyond_the_turn() -> None:
    registry = StopRegistry()
    with registry.active("c"):
        with registry.active("c"):
            pass
        assert registry.request_stop("c", USER) is True  # while a tool runs
        with registry.active("c") as channel:
            assert channel.pending == STOP
    assert "c" not in registry._channels
    with registry.active("c") as channel:
        assert channel.pending is None


def test_listeners_hear_at_once_and_late_ones_too() -> None:
    registry = StopRegistry()
    heard: list[str] = []
    with registry.active("c") as channel:
        with channel.heard_by(lambda: heard.append("early")):
            registry.request_stop("c", USER)
            assert heard == ["early"]
        with channel.heard_by(lambda: heard.append("late")):
            assert heard == ["early", "late"]
        registry.request_stop("c", USER)
    assert heard == ["early", "late"]


# -- an answer to the one who stopped stands below the last of the text (spec 04 O1) ------------


async def _stopped_in_mid_sentence(flush_ms: int) -> tuple[StopAnswer, list[str], StreamResult]:
    """What the channel held when the stop was answered."""
    registry = StopRegistry()
    sink = RecordingSink([ScriptedFault("send", 2, delay_ms=flush_ms)])
    provider = ScriptedProvider([Chunk("text", "one\nTwo. And th"), Silence(60_000)])
    context = StreamContext(channel="c", stops=registry)
    stream = stream_to_sink(provider, None, StreamConfig(), context, sink)
    streaming = asyncio.create_task(stream)
    await asyncio.sleep(5)
    answer = await registry.request_stop_anywhere("c", USER)
    return answer, list(sink.contents), await streaming


def test_a_stop_is_answered_behind_the_closing_flush() -> None:
    answer, there, result = run_virtual(_stopped_in_mid_sentence(flush_ms=300))
    assert (answer, there) == ("stopped", ["one", "Two."])
    assert result.status == "stopped_by_user"


def test_a_stop_is_answered_though_the_closing_flush_hangs() -> None:
    answer, there, result = run_virtual(_stopped_in_mid_sentence(flush_ms=5_000))
    assert (answer, there) == ("stopped", ["one"])
    assert result.accumulated_text == "one\nTwo."


@pytest.mark.parametrize("listens", [True, False])
def test_an_answer_waits_only_for_who_may_still_send(listens: bool) -> None:
    async def seconds() -> float:
        registry = StopRegistry()
        now = asyncio.get_running_loop().time
        with registry.active("c") as channel:
            if not listens:
                await registry.request_stop_anywhere("c", USER)
                return now()
            with channel.heard_by(lambda: None):
                await registry.request_stop_anywhere("c", USER)
                return now()

    assert run_virtual(seconds()) == (SETTLE_SECONDS if listens else 0)
