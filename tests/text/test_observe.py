"""What the engine reports to whoever listens; who does not listen changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi import Decision, TextConfig, TextEngine
from oshaberi.events import Event


def observed(text: str, **settings: Any) -> tuple[list[Decision], list[Event]]:
    decisions: list[Decision] = []
    config = TextConfig(**{"humanizer_degree": 1, **settings})
    engine = TextEngine(config, observe=decisions.append)
    return decisions, engine.feed(text) + engine.finish()


def told(text: str, kind: str, **settings: Any) -> list[tuple[str, str, str]]:
    decisions, _ = observed(text, **settings)
    return [(d.why, d.before, d.after) for d in decisions if d.kind == kind]


def test_boundaries() -> None:
    assert told("a\nb ```x``` c", "boundary") == [
        ("newline", "", "a"),
        ("code_open", "", "b"),
        ("code_close", "", "```x```"),
        ("final", "", "c"),
    ]


def test_places_of_boundaries() -> None:
    decisions, _ = observed("a\nbc")
    assert [d.at for d in decisions if d.kind == "boundary"] == [2, 4]


@pytest.mark.parametrize(
    ("opener", "closer"), [("(", ")"), ("**", "**"), ("「", "」"), (">>> ", "")]
)
def test_holds(opener: str, closer: str) -> None:
    found, _ = observed(f"{opener}b\nc{closer} d\n\ne")
    [hold, *_] = [d for d in found if d.kind == "hold"]
    assert (hold.at, hold.what) == (len(opener) + 1, opener.strip())


@pytest.mark.parametrize(
    ("text", "marker", "rule"),
    [
        ("(b\nc) d\ne", "(", "H1"),
        ("[a](b\nc) d\ne", "](", "H1"),
        (">>> a\nb\n\nc", ">>>", "H1"),
        ("(b\nc\n\nd", "(", "H2"),
        ("**b\nc ```x```", "**", "H2"),
        (f"(b\n{'c' * 60}\nd", "(", "H3"),
    ],
)
def test_releases(text: str, marker: str, rule: str) -> None:
    found, _ = observed(text, hold_limit=50)
    assert [(d.what, d.why) for d in found if d.kind == "release"] == [(marker, rule)]


def test_no_hold_where_nothing_waits() -> None:
    assert told("(a) b\nc", "hold") == []


EMOJIS = ("<:soup:111111111111111111>",)
"""Without a list no shortcode is unresolved."""


def test_transforms() -> None:
    changed = told("hi :nope: there", "transform", emojis=EMOJIS)
    assert changed == [("shortcodes", "hi :nope: there", "hi there")]
    assert told("Hello There", "transform", humanizer_degree=3) == [
        ("humanize", "Hello There", "hello there")
    ]


def test_orphans() -> None:
    assert [(before, after) for _, before, after in told("a\n...\nb", "orphan")] == [
        ("", "..."),
        ("...", "...b"),
    ]


@pytest.mark.parametrize(
    ("text", "why", "what"),
    [
        ("```x```\n.", "stray", "."),
        ("hi :nope: x", "unresolved_shortcode", ":nope:"),
        ("a\n---\nb", "rule", "---"),
    ],
)
def test_withheld(text: str, why: str, what: str) -> None:
    assert told(text, "withhold", emojis=EMOJIS) == [(why, what, "")]


def test_captures() -> None:
    assert told("<think>x</think>a<details>y</details>b", "capture") == [
        ("thought", "x", ""),
        ("details", "y", ""),
    ]


def test_cuts() -> None:
    [(_, before, after)] = told("x" * 2100, "cut", flush_buffer_size=4000)
    assert before == "x" * 2100
    assert after.replace("\n", "") == before


TEXT = (
    "a (b\nc) d\n<think>x</think>hi :nope: **there**\n...\nyo. No.\n"
    "```\nx\n```\n.\n| a | b |\n|-|-|\n"
)


@pytest.mark.parametrize("degree", range(4))
def test_listening_changes_nothing(degree: int) -> None:
    _, events = observed(TEXT * 20, humanizer_degree=degree)
    engine = TextEngine(TextConfig(humanizer_degree=degree))
    assert engine.feed(TEXT * 20) + engine.finish() == events


def test_decisions_are_values() -> None:
    first, _ = observed(TEXT)
    again, _ = observed(TEXT)
    assert first == again
    assert hash(first[0]) == hash(again[0])
