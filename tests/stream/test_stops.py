"""The stop registry: who may stop what, and what becomes of a request (spec 04 O2, O2a)."""

from __future__ import annotations

import pytest

from oshaberi.stream.stops import StopRegistry, StopRequest

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
    assert not registry.is_active("c")
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
