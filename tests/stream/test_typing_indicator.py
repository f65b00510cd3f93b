"""Nobody looks at a silent channel for more than a second while an answer comes (spec 07)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.stream import FollowUp, Silence, Step, Stop
from tests.delivery.limited_sink import LimitedSink
from tests.delivery.seen_typing import TypingWatch, longest_silence

from .scripted_streams import Played, play

DEGREES = range(4)


def slowly(text: str, ms: int, size: int = 12) -> list[str | Step]:
    """The text in pieces, with a silence after each."""
    steps: list[str | Step] = []
    for start in range(0, len(text), size):
        steps += [text[start : start + size], Silence(ms)]
    return steps


CODE = "```python\n" + "".join(f"print({number:03})\n" for number in range(60)) + "```\n"
TABLE = "| a | b |\n|---|---|\n" + "".join(f"| {number} | words |\n" for number in range(40))
PARAGRAPH = " ".join(["one more long sentence, that goes on and on"] * 20) + "."
THOUGHT = Chunk("text", thoughts=(ThoughtPart("hm"),))

ANSWERS: dict[str, list[str | Step]] = {
    "slow": [Silence(25_000), "Hello.\nAnd", Silence(12_000), " welcome."],
    "thinking": [THOUGHT, Silence(3000), THOUGHT, Silence(9500), "So.\n", THOUGHT, Silence(4000)],
    "tagged thinking": ["Hm.\n<think>", *slowly("what is it " * 12, 700), "</think>So."],
    "code": ["Look:\n", *slowly(CODE, 150), "Done."],
    "table": ["Look:\n", *slowly(TABLE, 150), "Done."],
    "paragraph": ["Well.\n", *slowly(PARAGRAPH, 100), "\nDone."],
    "lines": slowly("A line of words.\n" * 30, 300, size=10),
    "slow lines": slowly("A line of words.\n" * 4, 2500, size=17),
    "quick": ["First. Second. Third.\n" * 6],
}


def played(steps: Sequence[str | Step], degree: int, **options: Any) -> tuple[Played, TypingWatch]:
    watches: list[TypingWatch] = []

    def sink() -> RecordingSink:
        made = RecordingSink(options.pop("faults", ()))
        watches.append(TypingWatch(made))
        return made

    return play(*steps, degree=degree, sink=sink, **options), watches[0]


def ended_at(steps: Sequence[str | Step]) -> float:
    """When the model has said everything."""
    return sum(step.ms for step in steps if isinstance(step, Silence)) / 1000


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("name", ANSWERS)
def test_the_channel_is_never_silent(name: str, degree: int) -> None:
    steps = ANSWERS[name]
    result, watch = played(steps, degree)
    assert result.result.status == "completed"
    end = max(ended_at(steps), *watch.came_at())
    assert watch.longest_silence(end) <= 1.0
    assert all(at <= end for at in watch.asked_at)


@pytest.mark.parametrize("degree", DEGREES)
def test_one_request_serves_until_a_message_or_ten_seconds(degree: int) -> None:
    steps = ANSWERS["slow"]
    _result, watch = played(steps, degree)
    # 25 s are four requests; then, unless all waits for the end, one message and 12 s are two.
    assert len(watch.asked_at) == (5 if degree == 0 else 6)


def test_quick_lines_need_no_indicator_between_them() -> None:
    _result, watch = played(slowly("A line of words.\n" * 15, 500, size=17), 1)
    assert len(watch.came_at()) == 15
    assert watch.asked_at == [0.0]


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("end", [Stop("u"), FollowUp("u")], ids=["stop", "follow-up"])
@pytest.mark.parametrize("name", ["code", "slow", "thinking"])
def test_none_after_a_stop(name: str, end: Step, degree: int) -> None:
    steps = [*ANSWERS[name][:9], end, Silence(30_000), "More."]
    at = ended_at(steps[:9])
    result, watch = played(steps, degree, user="u")
    assert result.result.status in ("stopped", "stopped_by_user", "follow_up_interrupt")
    assert all(asked <= at for asked in watch.asked_at)


def test_a_channel_that_asks_for_no_text_shows_no_indicator() -> None:
    _result, watch = played(ANSWERS["code"], 1, suppress_text_output=True)
    assert watch.asked_at == []


def test_an_indicator_does_not_follow_a_message_on_the_wire() -> None:
    slow = [ScriptedFault("send", nth, delay_ms=700) for nth in (1, 2)]
    steps: list[str | Step] = ["One.\nTwo", Silence(900), ".\nThree."]
    _result, watch = played(steps, 1, faults=slow)
    assert watch.came_at() == [0.7, 1.6, 1.6]
    assert watch.asked_at == [0.0], "none while the second is on the wire"


def test_a_message_that_takes_long_is_waited_for_with_the_indicator() -> None:
    slow = [ScriptedFault("send", nth, delay_ms=9000) for nth in (1, 2)]
    _result, watch = played(["One.\n", "Two.\n", "Three."], 1, faults=slow)
    assert watch.longest_silence(max(watch.came_at())) <= 1.0


def test_an_answer_that_goes_on_does_not_wait_for_a_slow_message() -> None:
    slow = [ScriptedFault("send", 2, delay_ms=2500)]
    steps: list[str | Step] = ["One.\nTwo", Silence(700), ".\nThree", Silence(3000), "."]
    _result, watch = played(steps, 1, faults=slow)
    assert watch.came_at() == [0.0, 3.2, 3.7]
    assert watch.longest_silence(3.7) <= 1.0


def test_the_indicator_does_not_outlive_a_last_message_that_is_a_little_slow() -> None:
    slow = [ScriptedFault("send", 2, delay_ms=800)]
    steps: list[str | Step] = ["One.\nTwo", Silence(700), "."]
    _result, watch = played(steps, 1, faults=slow)
    assert watch.came_at() == [0.0, 1.5]
    assert watch.asked_at == [0.0]


class TestLiveMode:
    @pytest.mark.parametrize("degree", DEGREES)
    @pytest.mark.parametrize("name", ANSWERS)
    def test_the_channel_is_never_silent(self, name: str, degree: int) -> None:
        steps = ANSWERS[name]
        _result, watch = played(steps, degree, delivery="live")
        first = min(watch.came_at())
        assert watch.longest_silence(first) <= 1.0, "before the first words"
        end = max(ended_at(steps), *watch.came_at("message", "file", "edit"))
        assert watch.longest_silence(end, edits_count=True) <= 1.06, "edits come once a second"
        assert all(at <= end for at in watch.asked_at)

    def test_a_message_that_grows_needs_no_indicator(self) -> None:
        _result, watch = played(slowly("Some more words. " * 30, 200), 1, delivery="live")
        assert watch.asked_at == [0.0]

    @pytest.mark.parametrize("latency_ms", [200, 800])
    def test_nor_while_its_edits_are_sent(self, latency_ms: int) -> None:
        slow = [ScriptedFault("edit", nth, delay_ms=latency_ms) for nth in range(1, 99)]
        steps = slowly("Some more words. " * 30, 200)
        _result, watch = played(steps, 1, delivery="live", faults=slow)
        assert watch.asked_at == [0.0]
        end = max(watch.came_at("message", "edit"))
        assert watch.longest_silence(end, edits_count=True) <= 1.05 + latency_ms / 1000

    def test_nor_where_discord_limits_its_edits(self) -> None:
        watches: list[TypingWatch] = []

        def limited() -> RecordingSink:
            made = LimitedSink()
            watches.append(TypingWatch(made))
            return made

        play(*slowly("Some more words. " * 58, 100), degree=1, delivery="live", sink=limited)
        (watch,) = watches
        assert watch.asked_at == [0.0]
        end = max(watch.came_at("message", "edit"))
        assert watch.longest_silence(end, edits_count=True) <= 1.11

    def test_a_model_that_stops_to_think_is_typing(self) -> None:
        steps: list[str | Step] = ["Some first words.", Silence(4000), " And more words."]
        _result, watch = played(steps, 1, delivery="live")
        assert watch.asked_at == pytest.approx([0.0, 0.9])


def test_the_silence_is_measured_as_a_person_sees_it() -> None:
    assert longest_silence([], [], 5.0) == 5.0
    assert longest_silence([0.0], [], 10.0) == 0.0
    assert longest_silence([0.0], [], 13.0) == 3.0
    assert longest_silence([0.0], [(4.0, "message")], 6.0) == 2.0
    assert longest_silence([0.0, 4.5], [(4.0, "message")], 6.0) == 0.5
    assert longest_silence([0.0], [(4.0, "edit")], 6.0) == 0.0
    assert longest_silence([0.0], [(11.0, "edit")], 13.0) == 2.0


def test_it_is_off_after_the_end() -> None:
    result, _watch = played(["Hi."], 1)
    assert not result.response.indicator.is_on
