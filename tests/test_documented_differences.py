"""Decision 16: each difference from TomoriBot's documents has a reason, and is as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from oshaberi import TextConfig, TextEngine
from oshaberi.config import DECLARED
from oshaberi.events import Message
from oshaberi.providers.model_options import OPTIONS
from oshaberi.stream import Silence, Step
from tests.stream.scripted_streams import play

RECORD = (
    Path(__file__).parents[1] / "docs/decisions/0016-where-we-differ-from-tomoribots-documents.md"
)
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in RECORD.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| theirs")
]
SOUP = {"emojis": ("<:soup:111111111111111111>", "<:xdd:222222222222222222>")}
REN: dict[str, Any] = {"known": ({"name": "Ren", "kind": "persona"},)}
MAD = {"name": "mad", "avatar_url": "https://x.test/mad"}


def messages(text: str, degree: int = 1, **settings: Any) -> list[str]:
    engine = TextEngine(TextConfig(humanizer_degree=degree, **settings))
    events = [*engine.feed(text), *engine.finish()]
    return [event.text for event in events if isinstance(event, Message)]


def test_every_difference_has_a_reason() -> None:
    assert len(ROWS) > 30
    assert [row for row in ROWS if len(row) != 4 or not row[1] or not row[2]] == []


def test_their_way_is_a_setting() -> None:
    named = [found[1] for row in ROWS if (found := re.match(r"`(\w+)", row[3]))]
    assert len(named) == len([row for row in ROWS if row[3] != "–"]) == 7
    assert [name for name in named if name not in DECLARED and name not in OPTIONS] == []


@pytest.mark.parametrize(
    ("text", "ours", "theirs", "setting"),
    [
        ("- a\n- b", ["- a\n- b"], ["- a", "- b"], {"paragraph_mode": "lines"}),
        (
            f"(a\n{'b' * 600}\nc)\nd",
            ["(a", "b" * 600, "c)", "d"],
            [f"(a\n{'b' * 600}\nc)", "d"],
            {"hold_limit": 4000, "flush_buffer_size": 4000},
        ),
        (
            "hi\nRen: hello",
            ["hi", "Ren: hello"],
            ["hi"],
            {"registered_speaker_guard_enabled": True, **REN},
        ),
    ],
)
def test_both_ways(text: str, ours: list[str], theirs: list[str], setting: dict[str, Any]) -> None:
    assert messages(text) == ours
    assert messages(text, **setting) == theirs


def test_a_long_answer_is_packed_or_has_one_message_per_line() -> None:
    lines = [f"This is line {number}." for number in range(60)]
    assert len(messages("\n".join(lines))) < 40
    assert messages("\n".join(lines), max_flush_count=1000) == lines


@pytest.mark.parametrize(("max_backlog_ms", "took_ms"), [(4000, 4000), (60_000, 11_250)])
def test_waits_are_limited_or_add_up(max_backlog_ms: int, took_ms: int) -> None:
    text = "\n".join(["A line of words."] * 16)
    played = play(text, degree=2, max_backlog_ms=max_backlog_ms, thinking_pause_chance=0.0)
    assert played.times[-1] == pytest.approx(took_ms, abs=500)


@pytest.mark.parametrize(("reemits", "said"), [(False, "ha ha ha ha ha ha "), (True, "ha ha ha ")])
def test_a_repetition_is_kept_or_cut(reemits: bool, said: str) -> None:
    played = play("ha ha ha ", "ha ha ha ", reemits=reemits)
    assert played.messages == [said.strip()]


@pytest.mark.parametrize(
    ("text", "found", "settings"),
    [
        ("- a\n  - b\n- c", ["- a\n  - b", "- c"], {"paragraph_mode": "lines"}),
        ("a\n- b\n- c", ["a\n\n- b\n- c"], {"degree": 0}),
        ("(a\nb\n(c", ["(a", "b", "(c)"], {}),
        ("see http:\nnext", ["see http:", "next"], {}),
        (":soup: :xdd:", ["<:soup:111111111111111111>", "<:xdd:222222222222222222>"], SOUP),
        ("a\n?!?!\nb", ["a?!?!", "b"], {}),
        ("a\n...\nb", ["a", "...b"], {}),
        ("a\n…", ["a…"], {}),
        ("a\n..\nb", ["a..", "b"], {}),
        ("..", [".."], {}),
        ("```html\n<think>a</think>\n```", ["```html\n<think>a</think>\n```"], {}),
        ("hi :smile: :nothing:", ["hi 😄"], SOUP),
        ("hi :nothing:", ["hi :nothing:"], {}),
        ("a\n---\nb<br>c", ["a", "b", "c"], {}),
        (
            "hi\nNote: a\nHuman: b",
            ["hi", "Note: a"],
            {"llm_stop_speaker_pattern_enabled": True},
        ),
    ],
)
def test_ours(text: str, found: list[str], settings: dict[str, Any]) -> None:
    assert messages(text, **settings) == found


def test_a_plain_label_ends_a_sprite() -> None:
    persona = {"name": "Ren", "sprites": [MAD]}
    played = play("Ren (mad): a\nb\nRen: c", text={"persona": persona})
    assert [record["via"] for record in played.of("message")] == ["webhook", "webhook", "bot"]


def test_degree_1_types_nothing_and_degree_2_everything_but_the_first() -> None:
    steps: tuple[str | Step, ...] = ("One.\nTwo.\n", Silence(10), "Three.")
    assert play(*steps, degree=1).times == [0, 10, 10]
    first, second, third = play(*steps, degree=2).times
    assert first == 0 < second < third
