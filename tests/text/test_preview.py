"""What of the unfinished text could be shown: never something that turns out to be wrong."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from oshaberi import Decision, TextConfig, TextEngine
from oshaberi.text.messages.live_preview import showable

PERSONA = {"name": "Tomori", "sprites": [{"name": "mad", "avatar_url": "https://x.test/mad"}]}


def shown(text: str, **settings: object) -> list[str]:
    engine = TextEngine(TextConfig(humanizer_degree=1, **settings))  # type: ignore[arg-type]
    engine.feed(text)
    return [message.text for message in engine.preview()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it was a little fox in", ["it was a little fox"]),
        ("it was a little fox ", ["it was a little fox"]),
        ("once it was a **little fox", ["once it was a **little**"]),
        ('it was a little (and "very ha', ['it was a little (and "very")']),
        ("we look at this [little fox", ["we look at this"]),
        ("we all look at this [little fox](http://x", ["we all look at this"]),
        ("we all look at this https://x.test/a", ["we all look at this"]),
        ("we all look at this `some code", ["we all look at this"]),
        ("and then it went to <:so", ["and then it went to"]),
        ("and then it went to <think", ["and then it went to"]),
        ("and then we asked you, @mika and", ["and then we asked you,"]),
        ("write to the fox, fox@wood.test now", ["write to the fox,"]),
        ("this may be | a table, or it may", []),
        ("the fox", ["the"]),
        ("Little Red Fox", ["Little Red"]),
        ("今日はとても良い天気ですね、散歩", ["今日はとても良い天気ですね、散"]),
        ("```py\nx = 1\ny = some", ["```py\nx = 1\ny =\n```"]),
        ("```py\nx", []),
        ("```p", []),
    ],
)
def test_what_is_shown(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


KNOWN = [{"name": "Little Red Fox", "kind": "user", "id": "1"}]
PARTICIPANT = [{**KNOWN[0], "takes_part": True}]


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("Tom has", {"persona": PERSONA}, []),
        ("**Tomori (quite", {"persona": PERSONA}, []),
        ("tomori  (a b c d e", {"persona": PERSONA}, []),
        ("{{char}} ", {"persona": PERSONA}, []),
        ("Tomori went home", {"persona": PERSONA}, ["Tomori went"]),
        ("Tomorrow we", {"persona": PERSONA}, ["Tomorrow"]),
        ("ok\nLittle Red Fox ", {"known": KNOWN}, ["Little Red Fox"]),
        (
            "ok\nLittle Red Fox ",
            {"known": KNOWN, "registered_speaker_guard_enabled": True},
            [],
        ),
        (
            "ok\nLittle Blue Fox ",
            {"known": KNOWN, "registered_speaker_guard_enabled": True},
            ["Little Blue Fox"],
        ),
        ("ok\nLittle Red Fox ", {"known": PARTICIPANT}, []),
        ("ok\nLittle Red Fox: ", {"known": PARTICIPANT}, []),
        ('ok\nLittle Red Fox: "', {"known": PARTICIPANT}, []),
        ("ok\n**Little Red Fox:** ", {"known": PARTICIPANT}, []),
        ("ok\nLittle Red Fox: 3 ", {"known": PARTICIPANT}, ["Little Red Fox: 3"]),
        ("ok\nAssist", {}, []),
        ("ok\nHuman being ", {}, ["Human being"]),
        ("ok\nHuman ", {"registered_speaker_guard_enabled": True}, []),
        ("ok\nLittle Blue Fox ", {"llm_stop_speaker_pattern_enabled": True}, []),
    ],
)
def test_nothing_is_shown_of_what_may_be_a_label(
    text: str, settings: dict[str, object], expected: list[str]
) -> None:
    assert shown(text, **settings) == expected


def test_the_middle_of_a_line_is_no_label() -> None:
    assert showable("then Bob: hi you all there", TextConfig(), goes_on=True) == "then"
    assert showable("then we go on", TextConfig(), goes_on=True) == "then we go"


def test_a_long_block_goes_on_as_code() -> None:
    code = "```py\n" + "value = 12345\n" * 30 + "last = "
    assert shown(code, max_single_message_length=300)[0].startswith("```py\nvalue")


def test_the_engine_never_knows() -> None:
    text = 'Tomori (mad): go "away (now", **you *fox*!\n\n```py\na\n```x | y\n--|--\n1 | 2\n...so'
    decisions: list[list[Decision]] = [[], []]
    results = []
    for looks, told in zip((False, True), decisions, strict=True):
        config = TextConfig(humanizer_degree=1, persona=PERSONA)  # type: ignore[arg-type]
        engine = TextEngine(config, observe=told.append)
        events = []
        for letter in text:
            events += engine.feed(letter)
            if looks:
                engine.preview()
        results.append((events + engine.finish(), engine.carry()))
    assert results[0] == results[1]
    assert decisions[0] == decisions[1]


def test_nothing_after_the_end() -> None:
    engine = TextEngine()
    engine.feed("it was a little fox and")
    engine.finish()
    assert engine.preview() == []


def test_its_cost_does_not_grow_with_the_text() -> None:
    """L7: bounded by what is open, not by what has been said or thought."""
    few, many, thought = (
        _calls("it was a fox\n" * 60 + "and it was very happy there"),
        _calls("it was a fox\n" * 6000 + "and it was very happy there"),
        _calls("<think>" + "it was a fox\n" * 6000),
    )
    assert many < few * 3
    assert thought < few


def _calls(text: str) -> int:
    engine = TextEngine(TextConfig(humanizer_degree=1))
    for start in range(0, len(text), 50):
        engine.feed(text[start : start + 50])
    count = 0

    def note(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        engine.preview()
    finally:
        sys.setprofile(None)
    return count
