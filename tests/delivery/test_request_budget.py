"""Messages and buckets: what would be refused waits or is joined, and leaves in time.

Lines are joined only if the bucket, not pacing, would make them late (spec 07, falling behind).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discord_stage.requests.rate_limits import MESSAGE_CREATE_LIMIT
from oshaberi.delivery.attachments import DeliveryPlugIns, PersonaMessage
from oshaberi.delivery.rate_limit_waits import leave_at, planned_sends
from oshaberi.delivery.recording_sink import ScriptedFault
from oshaberi.delivery.sink import RequestRoom
from oshaberi.discord_io.requests.limits import room_of_headers
from oshaberi.stream import Silence, Step, Stop

from ..stream.scripted_streams import Played, play
from .limited_sink import LimitedSink

FIVE = RequestRoom(limit=5, remaining=4, resets_at=15.0, noted_at=10.0)


NO_WINDOW = 1e9
"""With this scale a bucket is full again at once, so only pacing decides."""
WINDOW_S = MESSAGE_CREATE_LIMIT.per_s


def room(remaining: int, noted_at: float = 10.0) -> RequestRoom:
    return RequestRoom(5, remaining, 15.0, noted_at)


def limited(
    *steps: str | Step, request_seconds: float = 0.1, scale: float = 1.0, **settings: Any
) -> tuple[Played, LimitedSink]:
    made: list[LimitedSink] = []

    def make() -> LimitedSink:
        made.append(LimitedSink(request_seconds, scale))
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


def test_the_last_one_is_kept_for_the_end_until_the_window_is_almost_over() -> None:
    assert leave_at(room(1), 11.0) == 14.0
    assert leave_at(room(1), 14.5) == 14.5
    assert leave_at(room(0), 14.5) == 15.0
    assert leave_at(room(1), 11.0, at_end=True) == 11.0
    assert leave_at(room(0), 11.0, at_end=True) == 15.0
    assert leave_at(room(0), 15.0) == 15.0


def test_of_a_small_bucket_nothing_is_kept() -> None:
    assert leave_at(RequestRoom(1, 1, 15.0, 10.0), 11.0) == 11.0


@given(st.integers(0, 5), st.floats(0, 5), st.floats(0, 6), st.booleans())
def test_nobody_waits_longer_than_the_window(
    remaining: int, noted_s: float, now_s: float, at_end: bool
) -> None:
    now = 10 + now_s
    left = leave_at(room(remaining, 10 + noted_s), now, at_end=at_end)
    assert now <= left <= max(now, 15.0)


def test_headers_that_say_nothing() -> None:
    assert room_of_headers({}, 1.0) is None
    assert room_of_headers({"X-RateLimit-Limit": "many"}, 1.0) is None


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


def code_and_lines(count: int) -> Iterator[str | Step]:
    for number in range(count):
        yield f"This is line {number}:\n```\ncode {number}\n```\n"
        yield Silence(600)


def test_at_the_end_code_is_joined_if_its_reader_would_wait() -> None:
    played, sink = limited(*code_and_lines(6))
    assert sink.refused == 0
    assert played.times[-1] <= 6 * 600 + 300
    assert (
        "\n".join(played.messages)
        == "".join(step for step in code_and_lines(6) if isinstance(step, str)).strip()
    )
    assert played.messages[1] == "```\ncode 0\n```", "but not before the end"


def test_without_haste_every_line_is_a_message_of_its_own() -> None:
    played, sink = limited(*lines(12, 1400))
    assert len(played.messages) == 12
    assert sink.refused == 0


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("request_seconds", [0.02, 0.1, 0.25])
@pytest.mark.parametrize("gap_ms", [0, 50, 150, 225, 300, 500, 800])
def test_eight_paced_lines_are_eight_messages(
    degree: int, request_seconds: float, gap_ms: int
) -> None:
    steps = list(lines(8, gap_ms))
    played, sink = limited(*steps, degree=degree, request_seconds=request_seconds)
    assert len(played.messages) == 8
    assert sink.refused == 0
    assert played.times[-1] - 8 * gap_ms <= 1000 * (WINDOW_S + 9 * request_seconds)


def test_eight_lines_at_forty_tokens_a_second_are_eight_messages() -> None:
    text = "".join(f"Here is what I know about number {n}.\n" for n in range(8))
    steps = [step for token in text.split(" ") for step in (token + " ", Silence(25))]
    played, sink = limited(*steps, degree=2)
    assert played.messages == text.splitlines()
    assert sink.refused == 0


@pytest.mark.parametrize("gap_ms", [0, 100, 400, 900])
def test_at_degree_1_lines_that_fit_into_the_window_are_not_joined(gap_ms: int) -> None:
    played, _sink = limited(*lines(5, gap_ms))
    assert len(played.messages) == 5
    assert played.times[-1] - 5 * gap_ms <= 500


def test_at_degree_1_only_as_many_are_joined_as_do_not_fit() -> None:
    played, _sink = limited(*lines(8, 0))
    assert len(played.messages) == 5
    assert sum(message.count("\n") for message in played.messages) == 3


def test_a_long_answer_is_joined_so_that_its_reader_is_not_late() -> None:
    played, _sink = limited(*lines(30, 100), degree=2)
    waited, _sink = limited(*lines(30, 100), degree=2, join_when_blocked=False)
    assert played.times[-1] - 3000 <= 4000 < waited.times[-1] - 3000
    assert len(played.messages) < len(waited.messages)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_without_joining_the_queue_waits(degree: int) -> None:
    steps = list(lines(18, 100))
    by_pace, _sink = limited(*steps, degree=degree, scale=NO_WINDOW)
    played, sink = limited(*steps, degree=degree, join_when_blocked=False)
    assert played.messages == by_pace.messages
    assert len(played.messages) == 18
    assert sink.refused == 0


def test_without_joining_a_slow_request_joins_nothing() -> None:
    fault = ScriptedFault("send", 2, rate_limit_ms=5000)
    joined = play(*lines(8, 0), faults=[fault])
    alone = play(*lines(8, 0), faults=[fault], join_when_blocked=False)
    assert (len(joined.messages), len(alone.messages)) == (3, 8)


class TestAnyLines:
    """Lines of any length at any time."""

    scripts = st.lists(
        st.tuples(st.integers(0, 80), st.sampled_from([0, 0, 100, 400, 900, 1300, 2500])),
        min_size=1,
        max_size=18,
    )
    degrees = st.sampled_from([1, 2])
    seconds = st.sampled_from([0.02, 0.12, 0.3])

    @given(scripts, degrees, seconds, st.booleans())
    def test_nothing_is_lost_refused_or_out_of_order(
        self, script: list[tuple[int, int]], degree: int, seconds: float, joins: bool
    ) -> None:
        steps = list(_steps(script))
        played, sink = limited(
            *steps, degree=degree, request_seconds=seconds, join_when_blocked=joins
        )
        assert "\n".join(played.messages).split("\n") == _texts(script)
        assert sink.refused == 0

    @given(scripts, degrees, seconds)
    def test_what_pacing_alone_sends_later_than_the_bucket_is_never_joined(
        self, script: list[tuple[int, int]], degree: int, seconds: float
    ) -> None:
        steps = list(_steps(script))
        alone, _sink = limited(*steps, degree=degree, request_seconds=seconds, scale=NO_WINDOW)
        at_s = [ms / 1000 for ms in alone.times]
        most = MESSAGE_CREATE_LIMIT.amount
        later = zip(at_s, at_s[most:], strict=False)
        assume(all(after - at >= WINDOW_S + seconds for at, after in later))
        played, _sink = limited(*steps, degree=degree, request_seconds=seconds)
        assert played.messages == alone.messages

    @given(st.lists(st.floats(0, 3), max_size=30), st.integers(0, 5), st.booleans())
    def test_a_plan_never_asks_too_much_of_a_window(
        self, gaps: list[float], remaining: int, at_end: bool
    ) -> None:
        wanted = [10 + sum(gaps[: at + 1]) for at in range(len(gaps))]
        plan = planned_sends(wanted, room(remaining), WINDOW_S, 10.0, at_end=at_end)
        left = [sent.leaves_at for sent in plan]
        assert left == sorted(left)
        assert all(sent.late_s >= 0 for sent in plan)
        assert sum(at < 15.0 for at in left) <= remaining
        for number in {sent.window for sent in plan}:
            assert sum(sent.window == number for sent in plan) <= 5


def _texts(script: list[tuple[int, int]]) -> list[str]:
    return [f"line {number} {'x' * length}".strip() for number, (length, _) in enumerate(script)]


def _steps(script: list[tuple[int, int]]) -> Iterator[str | Step]:
    for text, (_length, gap_ms) in zip(_texts(script), script, strict=True):
        yield f"{text}\n"
        yield Silence(gap_ms)


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


def test_the_edits_of_a_window_are_spread_evenly() -> None:
    steps: list[str | Step] = ["word ", Silence(50)]
    played, sink = limited("Once upon a time ", *steps * 180, delivery="live")
    times = [record["at_ms"] for record in played.of("edit")]
    assert sink.refused == 0
    assert len(times) > 8
    assert all(1000 <= after - before <= 1030 for before, after in pairwise(times[:-1]))


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
