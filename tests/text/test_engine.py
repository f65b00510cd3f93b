"""The public engine: one stream, how it ends, what it carries, and odd input."""

from __future__ import annotations

import time
from typing import Any

import pytest

import oshaberi
from oshaberi import Carry, EngineClosedError, Persona, Sprite, TextConfig, TextEngine
from oshaberi.events import Event, Message, SpeakerStop, Thought, Withheld

from .engine_runs import Ending, fed, messages, outcome, run

ENDINGS: dict[str, Ending] = {
    "finish": lambda engine: engine.finish(),
    "tool call": lambda engine: engine.flush("tool_call"),
    "trimmed": lambda engine: engine.flush("tool_call", trim_incomplete_clause=True),
    "stop": lambda engine: engine.flush("stop"),
    "discard": lambda engine: engine.discard(),
}


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Message)]


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ended_engine_is_closed(name: str) -> None:
    engine = TextEngine()
    engine.feed("a\nb (c")
    assert ENDINGS[name](engine)
    with pytest.raises(EngineClosedError, match="make a new TextEngine"):
        engine.feed("more")
    with pytest.raises(EngineClosedError):
        engine.feed("")
    for again in ENDINGS.values():
        assert again(engine) == []


@pytest.mark.parametrize("name", ENDINGS)
def test_an_empty_stream_says_nothing(name: str) -> None:
    assert ENDINGS[name](TextEngine()) == []


def test_defaults() -> None:
    engine = TextEngine()
    assert texts(engine.feed("a\nb") + engine.finish()) == ["a", "b"]


def test_events_come_as_soon_as_they_are_certain() -> None:
    engine = TextEngine(TextConfig(humanizer_degree=1))
    assert engine.feed("one\n") == []
    assert texts(engine.feed("t")) == ["one"]
    assert engine.feed("wo") == []
    assert engine.feed("\n```\nx\n``") == [Message("two", "newline", None, 2, (4, 8))]
    assert engine.feed("`") == []
    assert texts(engine.feed("\nt")) == ["```\nx\n```"]


def test_a_thought_comes_when_it_closes() -> None:
    engine = TextEngine()
    assert engine.feed("<think>hm") == []
    assert engine.feed("</think>") == [Thought("hm")]


def test_discard_reports_what_it_dropped() -> None:
    engine = TextEngine(TextConfig(humanizer_degree=1))
    assert engine.feed("a\nb <think>t</think>c") == [
        Message("a", "newline", None, 1, (0, 2)),
        Thought("t"),
    ]
    assert engine.discard() == [Withheld("b c", "follow_up", 2, (2, 5))]


def test_discard_reports_strays_that_waited_for_their_unit() -> None:
    engine = TextEngine(TextConfig(humanizer_degree=1))
    events = [*engine.feed("Smith\n.\n\n.\n\n.\n"), *engine.discard()]
    assert [event for event in events if isinstance(event, Withheld)] == [
        Withheld("..", "stray", 2, (7, 14))
    ]


def test_discard_of_nothing() -> None:
    engine = TextEngine()
    engine.feed(" \n ")
    assert engine.discard() == []


# -- carry --------------------------------------------------------------------------------------


def test_count_is_carried() -> None:
    config = TextConfig(humanizer_degree=1)
    first = TextEngine(config)
    assert len(first.feed("\n".join("abcdefghijklmnopqrs")) + first.flush("tool_call")) == 19
    carried = first.carry()
    assert carried.messages == 19
    second = TextEngine(config, carried=carried)
    assert texts(second.feed("a\nb\nc") + second.finish()) == ["a\nb\nc"]
    third = TextEngine(config)
    assert texts(third.feed("a\nb\nc") + third.finish()) == ["a", "b", "c"]


def test_active_sprite_is_carried() -> None:
    persona = Persona("Tomori", sprites=(Sprite("mad", "https://x.test/m.png"),))
    config = TextConfig(persona=persona)
    first = TextEngine(config)
    first.feed("Tomori (mad): hi")
    first.flush("tool_call")
    second = TextEngine(config, carried=first.carry())
    [message] = second.feed("again") + second.finish()
    assert isinstance(message, Message)
    assert message.identity is not None
    assert message.identity.sprite == "mad"


def test_nothing_to_carry() -> None:
    assert TextEngine().carry() == Carry()


# -- odd input ----------------------------------------------------------------------------------


def test_a_million_empty_pieces_cost_nothing() -> None:
    engine = TextEngine()
    begun = time.process_time()
    for _ in range(1_000_000):
        engine.feed("")
    assert time.process_time() - begun < 3
    assert engine.finish() == []


@pytest.mark.parametrize("degree", range(4))
def test_two_megabytes_in_one_piece(degree: int) -> None:
    line = "word " * 14
    events = fed([f"{line}\n" * 28_000], TextConfig(humanizer_degree=degree))
    assert sum(text.count("word") for text in texts(events)) == 28_000 * 14


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "\ud800",
        "\udfff\ud800",
        "\r",
        "\ufeff",
        "\u2028",
        "a\u2028b",
        "\x1c\x1f",
        "`" * 50,
        "*" * 50,
        "|" * 50,
        "~" * 50,
        "(" * 50,
        "<" * 50,
        "</think>" * 9,
        "</details>" * 9,
        "```" * 7,
        "[](" * 9,
        "\\" * 50,
        "://",
        "http://",
        ">>> ",
        "-#",
        "|---|---|",
        ":",
        "<think",
        "\u200d" * 30,
        "e" + "\u0301" * 3000,
        "🇯🇵" * 800,
    ],
)
@pytest.mark.parametrize("degree", range(4))
def test_nothing_breaks_it(text: str, degree: int) -> None:
    for event in run(text, humanizer_degree=degree):
        if isinstance(event, Message):
            assert event.text.strip() == event.text != ""


@pytest.mark.parametrize(
    ("guard", "text", "label"),
    [
        ("llm_stop_speaker_pattern_enabled", "hi\nRen: yo\nmore", "Ren"),
        ("registered_speaker_guard_enabled", "hi\nUser: yo", "User"),
    ],
)
def test_after_a_speaker_stop_nothing_is_shown(guard: str, text: str, label: str) -> None:
    settings: dict[str, Any] = {guard: True}
    events = run(text, humanizer_degree=1, **settings)
    assert outcome(events).messages == ["hi"]
    assert [event for event in events if isinstance(event, SpeakerStop)] == [SpeakerStop(label)]
    assert {reason for _, reason in outcome(events).withheld} == {"speaker_guard"}


def test_public_names() -> None:
    for name in oshaberi.__all__:
        assert hasattr(oshaberi, name)


def test_settings_may_be_plain_values() -> None:
    found = messages(
        "Tomori: hi @bob :soup:",
        persona={"name": "Tomori", "aliases": ["Lilya"]},
        known=[{"name": "bob", "id": "12"}],
        emojis=["<:soup:111111111111111111>"],
    )
    assert found == ["hi <@12>", "<:soup:111111111111111111>"]
