"""Messages and buckets: what would be refused waits, joins others, and leaves in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.delivery.delivery_plug_ins import DeliveryPlugIns, PersonaMessage
from oshaberi.delivery.pacing.bucket_pace import leave_at, spare_requests
from oshaberi.delivery.sink import RequestRoom
from oshaberi.stream import Silence, Step, Stop

from ..stream.scripted_streams import Played, play
from .limited_sink import LimitedSink

FIVE = RequestRoom(limit=5, remaining=4, resets_at=15.0, noted_at=10.0)


def room(remaining: int, noted_at: float = 10.0) -> RequestRoom:
    return RequestRoom(5, remaining, 15.0, noted_at)


def limited(*steps: str | Step, **settings: Any) -> tuple[Played, LimitedSink]:
    made: list[LimitedSink] = []

    def make() -> LimitedSink:
        made.append(LimitedSink())
        return made[0]

    return play(*steps, sink=make, **settings), made[0]


def lines(count: int, gap_ms: int) -> Iterator[str | Step]:
    for number in range(count):
        yield f"This is line {number}.\n"
        yield Silence(gap_ms)


def test_the_first_leave_at_once_the_others_are_spread() -> None:
    assert leave_at(None, 10.0) == 10.0
    assert leave_at(room(4), 10.2) == 10.2
    assert leave_at(room(3, noted_at=10.5), 10.6) == 12.0
    assert leave_at(room(2, noted_at=12.0), 12.0) == 13.5
    assert leave_at(room(2, noted_at=12.0), 14.0) == 14.0


def test_the_last_one_is_kept_for_the_end() -> None:
    assert leave_at(room(1), 11.0) == 15.0
    assert leave_at(room(1), 11.0, at_end=True) == 11.0
    assert leave_at(room(0), 11.0, at_end=True) == 15.0
    assert leave_at(room(0), 15.0) == 15.0


def test_of_a_small_bucket_nothing_is_kept() -> None:
    assert leave_at(RequestRoom(1, 1, 15.0, 10.0), 11.0) == 11.0
    assert spare_requests(RequestRoom(2, 1, 15.0, 10.0), 11.0) == 1
    assert spare_requests(room(0), 16.0) == 4


@given(st.integers(0, 5), st.floats(0, 5), st.floats(0, 6), st.booleans())
def test_nobody_waits_longer_than_the_window(
    remaining: int, noted_s: float, now_s: float, at_end: bool
) -> None:
    now = 10 + now_s
    left = leave_at(room(remaining, 10 + noted_s), now, at_end=at_end)
    assert now <= left <= max(now, 15.0)


def test_headers_that_say_nothing() -> None:
    assert RequestRoom.of_headers({}, 1.0) is None
    assert RequestRoom.of_headers({"X-RateLimit-Limit": "many"}, 1.0) is None


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("gap_ms", [100, 400, 900])
def test_nothing_meets_an_empty_bucket(degree: int, gap_ms: int) -> None:
    played, sink = limited(*lines(30, gap_ms), degree=degree)
    assert sink.refused == 0
    told = "\n".join(played.messages).casefold().replace(".", "")
    assert told.split() == " ".join(f"this is line {n}" for n in range(30)).split()


def test_at_the_end_the_reader_need_not_wait_for_the_next_window() -> None:
    played, _sink = limited(*lines(30, 300))
    assert played.times[-1] <= 30 * 300 + 300


def test_without_haste_every_line_is_a_message_of_its_own() -> None:
    played, sink = limited(*lines(12, 1400))
    assert len(played.messages) == 12
    assert sink.refused == 0


def test_what_waits_for_room_is_withdrawn_by_a_stop() -> None:
    played, _sink = limited(*lines(6, 50), Stop("1"))
    assert played.result.status == "stopped_by_user"
    assert "line 5" in played.result.undelivered + "".join(played.messages)


def test_a_long_answer_is_not_typed_long_after_the_model_has_ended() -> None:
    played, _sink = limited(*lines(30, 300), degree=2)
    assert played.times[-1] - 30 * 300 <= 4000


def test_the_last_edit_of_live_mode_leaves_at_once() -> None:
    steps: list[str | Step] = [
        "It was a very little ",
        Silence(1500),
        "fox ",
        Silence(200),
        "in the wood.",
    ]
    played, sink = limited(*steps, delivery="live")
    assert played.messages == ["It was a very little fox in the wood."]
    assert played.of("edit")[-1]["at_ms"] == 1800
    assert sink.refused == 0


def test_edits_of_live_mode_never_meet_an_empty_bucket() -> None:
    _played, sink = limited(*lines(60, 250), delivery="live")
    assert sink.refused == 0


def test_with_notify_last_the_last_message_notifies() -> None:
    played, _sink = limited(*lines(20, 100), notify="last")
    silent = [posted.post.silent for posted in played.sink.posted]
    assert silent == [True] * (len(silent) - 1) + [False]


def test_an_alter_that_a_display_mode_shows_as_the_bot_waits_for_the_bots_bucket() -> None:
    def plain(message: PersonaMessage) -> PersonaMessage:
        return replace(message, face=None)

    modes = DeliveryPlugIns(display_modes={"plain": plain})
    alter = {"persona": {"name": "Ren", "is_alter": True}}
    played, sink = limited(*lines(40, 100), text=alter, plug_ins=modes, display_mode="plain")
    assert "line 39" in played.messages[-1]
    assert sink.refused == 0
