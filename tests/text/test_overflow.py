"""Spec 05 B5 and B6: where a segment is cut that has no usable boundary."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.events import Message
from oshaberi.text.config import TextConfig
from oshaberi.text.engine import TextEngine
from oshaberi.text.measure import utf16_len
from oshaberi.text.segments.cuts import CutWindow, choose_cut

from .engine_runs import run

FAMILY = "👨\u200d👩\u200d👧"


def lengths(text: str, **settings: Any) -> list[int]:
    events = run(text, **{"humanizer_degree": 1, **settings})
    return [len(event.text) for event in events if isinstance(event, Message)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the end, or a newline, in the 200 after the target
        ("x" * 1199, [1199]),
        ("x" * 1200, [1000, 200]),
        ("x" * 1100 + "\n" + "y" * 500, [1100, 500]),
        ("(" + "x" * 1099 + "\n" + "y" * 500 + ")", [1100, 501]),
        # the first sentence end in them
        ("a" * 1050 + ". bb. " + "c" * 300, [1051, 304]),
        # the last sentence end in the 300 before
        ("a" * 800 + ". bb. " + "c" * 600, [805, 600]),
        ("a" * 900 + ". " + "b" * 150 + " " + "c" * 300, [901, 451]),
        # the last whitespace in the 300 before
        ("a" * 900 + " b " + "c" * 600, [902, 600]),
        # the first whitespace in the 200 after
        ("a" * 1100 + " b " + "c" * 600, [1100, 602]),
        # the target itself
        ("x" * 2500, [1000, 1000, 500]),
        ("a " * 100 + "b" * 2000, [1000, 1000, 200]),
        # moved to an earlier edge
        ("x" * 996 + FAMILY + "y" * 300, [996, 305]),
        ("x" * 990 + "`" + "c" * 50 + "`" + "y" * 300, [990, 352]),
        ("x" * 990 + "<@111111111111111111>" + "y" * 300, [990, 321]),
        ("w " * 480 + "http://x.y/" + "z" * 100 + " end" * 60, [959, 351]),
        # an atom that starts the segment is kept whole up to a message
        ("http://x.y/" + "z" * 1500 + " end", [1515]),
        # spans are avoided where one can
        ("w " * 490 + "(one two three four) " + "v " * 200, [979, 420]),
        ("w " * 490 + "**one two three four** " + "v " * 200, [979, 422]),
        ("w " * 495 + "(open and never closed " + "v " * 300, [989, 622]),
    ],
)
def test_cuts(text: str, expected: list[int]) -> None:
    assert lengths(text) == expected


def test_a_link_that_has_only_begun_is_not_cut() -> None:
    link = "[" + "a b " * 70 + "](http://x.y/z)"
    events = run("w " * 480 + link + " end" * 40, humanizer_degree=1)
    texts = [event.text for event in events if isinstance(event, Message)]
    assert texts == [("w " * 480).strip(), link + " end" * 40]


def test_small_buffers_shrink_the_windows() -> None:
    assert CutWindow.of(100) == (100, 33, 20)
    assert CutWindow.of(1000) == (1000, 300, 200)
    assert CutWindow.of(4000) == (4000, 300, 200)
    assert lengths("x" * 119, flush_buffer_size=100) == [119]
    assert lengths("x" * 120, flush_buffer_size=100) == [100, 20]
    assert lengths("x" * 68 + " " + "y" * 90, flush_buffer_size=100) == [68, 90]
    assert lengths("x" * 60 + " " + "y" * 90, flush_buffer_size=100) == [100, 51]


def test_degree_0_does_not_overflow() -> None:
    assert lengths("word " * 300, humanizer_degree=0) == [1499]


def test_what_is_longer_than_a_message_is_cut_all_the_same() -> None:
    events = run("http://x.y/" + "z" * 5000 + " end")
    texts = [event.text for event in events if isinstance(event, Message)]
    assert "".join(texts) == "http://x.y/" + "z" * 5000 + " end"
    assert all(utf16_len(text) <= 1950 for text in texts)


def test_choice_goes_by_what_stands_before_the_limit() -> None:
    window = CutWindow.of(1000)
    text = "a" * 1150 + "." + "b" * 400
    assert choose_cut(text + " ", 0, window, [], []) == 1000
    assert choose_cut("a" * 1150 + ". " + "b" * 400, 0, window, [], []) == 1151
    assert choose_cut(text, 0, window, [(0, 1300)], []) == 0
    both = "a" * 1050 + ". " + "B" * 48 + "\n" + "c" * 400
    assert choose_cut(both, 0, window, [], []) == 1101
    assert choose_cut(both, 0, window, [], [(1090, 1110)]) == 1051
    assert choose_cut(both, 0, window, [], [(900, 1300)]) == 1101


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize(
    "opener", ["(", "**", '"', "「", "[a](", "`", "||", ">>> ", "| a | b", "<a"]
)
def test_nothing_is_held_for_long(degree: int, opener: str) -> None:
    """L6: an open marker delays a line and a word only for so long."""
    engine = TextEngine(TextConfig(humanizer_degree=degree, max_flush_count=1000))
    sent = held = 0
    for at, letter in enumerate(f"{opener}one " + "two three\n" * 600):
        for event in engine.feed(letter):
            assert isinstance(event, Message)
            sent = event.span[1]
        held = max(held, at + 1 - sent)
    assert held <= 1950 + 200


def test_a_whole_message_of_code_leaves_at_once() -> None:
    """B6: as soon as it would not fit even with the shortest closing."""
    engine = TextEngine(TextConfig(humanizer_degree=1))
    line = "x = 1\n"
    text = "```py\n" + line * 400
    [first] = [event for letter in text[:1980] for event in engine.feed(letter)]
    assert isinstance(first, Message)
    assert first.text == "```py\n" + line * 323 + "```"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```py\n" + "x = 1\n" * 600 + "```\nend", [1947, 1671, 3]),
        ("```py\n" + "y" * 3000 + "\n```", [1950, 1070]),
        ("```\n" + "x" * 1943 + "```", [1950]),
        ("```\n" + "x" * 1944 + "```", [1950, 9]),
        # cut off: the fence has a line of its own where there is room for it
        ("```\n" + "x" * 1942, [1950]),
        ("```\n" + "x" * 1943, [1950]),
    ],
)
def test_long_code(text: str, expected: list[int]) -> None:
    assert lengths(text) == expected


def test_split_code_keeps_its_tag_and_indentation() -> None:
    body = "".join(f"        line {i}\n\n" for i in range(300))
    events = run(f"```py\n{body}```", humanizer_degree=1)
    texts = [event.text for event in events if isinstance(event, Message)]
    assert len(texts) > 2
    assert all(text.startswith("```py\n") and text.endswith("\n```") for text in texts)
    assert "".join(text[6:-3] for text in texts) == body


def test_a_line_whose_beginning_is_forgotten_is_still_a_quote() -> None:
    """The `[` is kept whole up to a message, and a newline is all that is known behind it."""
    text = ("> " + "a b " * 600)[:2176] + " [" + "x" * 118 + "\n> more of it"
    sizes: dict[str, Any] = {
        "max_single_message_length": 100,
        "flush_buffer_size": 100,
        "hold_limit": 50,
    }
    events = run(text, humanizer_degree=1, paragraph_mode="blocks", max_flush_count=1000, **sizes)
    last = events[-1]
    assert isinstance(last, Message)
    assert last.text == "> more of it"
