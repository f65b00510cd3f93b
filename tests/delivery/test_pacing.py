"""How long messages wait: the numbers of spec 07, and what the reader sees of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.chunks import Chunk, ToolCall
from oshaberi.delivery.config import POLICIES, StreamConfig, paces, policy_of
from oshaberi.delivery.pacing import fit, pause_ms, table_typing_ms, typing_ms
from oshaberi.delivery.queue import Wait
from oshaberi.delivery.response import ResponseState
from oshaberi.errors import ConfigError
from oshaberi.stream import Silence
from oshaberi.text.config import TextConfig

from ..stream.scripted_streams import play

STEADY: dict[str, Any] = {
    "min_random_pause_ms": 1000,
    "max_random_pause_ms": 1000,
    "thinking_pause_chance": 1.0,
}


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("hi", 750),
        ("x" * 75, 750),
        ("x" * 100, 1000),
        ("x" * 400, 4000),
        ("x" * 1900, 4000),
        ("```\nx\n```", 937.5),
        ("```\n" + "x" * 192 + "\n```", 2000),
    ],
)
def test_typing_time(text: str, ms: float) -> None:
    assert typing_ms(text, StreamConfig()) == ms


def test_tables_use_the_minimum_and_the_maximum_wins() -> None:
    assert table_typing_ms(StreamConfig()) == 750
    assert typing_ms("hi", StreamConfig(max_typing_time_ms=100)) == 100


def test_pauses_come_from_seed_and_number_alone() -> None:
    config = StreamConfig()
    pauses = [pause_ms(n, config) for n in range(200)]
    assert pauses == [pause_ms(n, config) for n in range(200)]
    taken = [pause for pause in pauses if pause]
    assert 30 <= len(taken) <= 70, "a quarter of them"
    assert len(set(taken)) > 20
    assert all(250 <= pause <= 1500 for pause in taken)
    assert pauses != [pause_ms(n, StreamConfig(text=TextConfig(seed=1))) for n in range(200)]


@pytest.mark.parametrize(("chance", "ms"), [(0.0, 0), (1.0, 1000)])
def test_thinking_pauses_come_by_chance(chance: float, ms: float) -> None:
    settings = {**STEADY, "thinking_pause_chance": chance}
    assert pause_ms(1, StreamConfig(**settings)) == ms


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 4000)), max_size=64))
def test_a_queue_never_waits_longer_than_its_bound(pairs: list[tuple[int, int]]) -> None:
    waits = [Wait(*pair) for pair in pairs]
    before = sum(wait.total_ms for wait in waits)
    fit(waits, 4000)
    after = sum(wait.total_ms for wait in waits)
    assert after == pytest.approx(min(before, 4000))
    fit(waits, 4000)
    assert sum(wait.total_ms for wait in waits) == pytest.approx(after)


@pytest.mark.parametrize(
    ("degree", "name", "delivery", "types"),
    [
        (0, "NONE", "aggregated", False),
        (1, "LIGHT", "streaming", False),
        (2, "MEDIUM", "streaming", True),
        (3, "HEAVY", "streaming", True),
    ],
)
def test_the_table_of_degrees(degree: int, name: str, delivery: str, types: bool) -> None:
    config = StreamConfig(text=TextConfig(humanizer_degree=degree))
    policy = policy_of(config)
    assert (policy.name, policy.delivery, policy.types) == (name, delivery, types)
    assert paces(config) is types
    live = StreamConfig(text=TextConfig(humanizer_degree=degree), delivery="live")
    assert not paces(live)
    assert len(POLICIES) == 4


def test_the_first_message_leaves_at_once_later_ones_are_typed() -> None:
    played = play("one\n" + "x" * 100 + "\nthree", degree=2, **STEADY)
    assert played.times == [0, 2000, 3750]
    assert [(r["at_ms"], r["ms"]) for r in played.of("typing")] == [(1000, 1000), (3000, 750)]


@pytest.mark.parametrize(
    ("silence", "at", "typed"),
    [(0, 1750, 750), (500, 1750, 750), (1200, 1750, 550), (1750, 1750, None), (9000, 9000, None)],
)
def test_the_models_own_time_counts(silence: int, at: int, typed: int | None) -> None:
    slow = play("one\nt", Silence(silence), "wo\nx", degree=2, **STEADY)
    assert slow.times[1] == at
    first_typing = slow.of("typing")[0]
    if typed is not None:
        assert first_typing["ms"] == typed
    else:
        assert first_typing["at_ms"] > at


def test_a_tool_call_ends_the_waiting() -> None:
    call = Chunk("function_call", calls=(ToolCall("look"),))
    played = play("one\ntwo\nthree", Silence(600), call, degree=2, **STEADY)
    assert played.times == [0, 600, 600]


def test_degree_1_never_types() -> None:
    played = play("one\ntwo\nthree", degree=1)
    assert played.times == [0, 0, 0]
    assert played.of("typing") == []


def test_a_long_queue_is_caught_up_with_and_keeps_its_order() -> None:
    lines = [f"line {n}" for n in range(15)]
    played = play("\n".join(lines), degree=2)
    assert played.messages == lines
    # The last line joins the queue only when the first are already on their way.
    assert 4000 <= played.times[-1] <= 5000
    assert all(earlier < later for earlier, later in pairwise(played.times))


def test_the_pace_goes_on_over_a_tool_call() -> None:
    response = ResponseState(key="k", last_sent_at=0.0, sent=1)
    assert play("two", degree=2, response=response, **STEADY).times == [1750]


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"thinking_pause_chance": 1.5}, "thinking_pause_chance"),
        ({"thinking_pause_chance": True}, "thinking_pause_chance"),
        ({"thinking_pause_chance": "often"}, "thinking_pause_chance"),
        ({"min_random_pause_ms": 2000}, "min_random_pause_ms"),
        ({"send_message_limit": 41}, "send_message_limit"),
        ({"inactivity_timeout_ms": 999}, "inactivity_timeout_ms"),
        ({"notify": "none"}, "notify"),
        ({"delivery": "carrier pigeon"}, "delivery"),
        ({"suppress_embeds": 1}, "suppress_embeds"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key}: "):
        StreamConfig(**settings)
