"""Lengths in UTF-16 units, what is visible, and where a character may be cut (L1, L5)."""

from __future__ import annotations

import pytest
import regex

from oshaberi.text.measure import (
    extends,
    first_visible,
    fits,
    grapheme_edge,
    has_visible,
    utf16_len,
    utf16_offset,
    whole_edge,
)

FAMILY = "👨\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "units"), [("", 0), ("abc", 3), ("é", 1), ("e\u0301", 2), ("😀", 2), (FAMILY, 8)]
)
def test_units(text: str, units: int) -> None:
    assert utf16_len(text) == units


def test_a_lone_half_counts() -> None:
    assert utf16_len("\ud83d") == 1


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("a", True),
        (".", True),
        ("😀", True),
        ("\u200ba", True),
        ("", False),
        (" \n\t", False),
        ("\u200b", False),
        ("\u200d\ufeff \u3000", False),
        ("\x1c\x1f\u200b", False),
        ("\u00ad", False),
    ],
)
def test_visible(text: str, visible: bool) -> None:
    assert has_visible(text) is visible


@pytest.mark.parametrize(
    ("text", "start", "units", "end"),
    [
        ("abcdef", 0, 4, 4),
        ("abcdef", 3, 10, 6),
        ("a😀b", 0, 2, 1),
        ("a😀b", 0, 3, 2),
        ("😀😀😀", 0, 5, 2),
        ("x😀😀", 1, 3, 2),
        ("abc", 0, 0, 0),
    ],
)
def test_offset(text: str, start: int, units: int, end: int) -> None:
    assert utf16_offset(text, start, units) == end


@pytest.mark.parametrize(
    ("text", "at", "edge"),
    [
        ("abcdef", 3, 3),
        ("abe\u0301f", 3, 2),
        ("ab😀c", 3, 3),
        (f"ab{FAMILY}c", 4, 2),
        (f"ab{FAMILY}c", 7, 7),
        ("ab🇯🇵🇫🇷", 3, 2),
        ("ab🇯🇵🇫🇷", 4, 4),
        ("ab🇯🇵🇫🇷", 5, 4),
        ("a\r\nb", 2, 1),
        ("ab", 9, 2),
        ("が" + "\u3099", 1, 1),
        (FAMILY * 3, 12, 10),
    ],
)
def test_grapheme_edge(text: str, at: int, edge: int) -> None:
    assert grapheme_edge(text, 0, at) == edge


def test_one_cluster_that_fills_it_all_is_cut() -> None:
    assert grapheme_edge("a" + "\u0301" * 50, 0, 20) == 20


def test_one_cluster_has_no_whole_edge() -> None:
    assert whole_edge("a" + "\u0301" * 50, 0, 20) == 0
    assert whole_edge("ab" + "\u0301" * 50, 0, 20) == 1


@pytest.mark.parametrize(("text", "start", "at"), [("\ufeff \u200bx", 0, 3), ("ab", 1, 1)])
def test_first_visible(text: str, start: int, at: int) -> None:
    assert first_visible(text, start, len(text)) == at


def test_nothing_visible_before_the_end() -> None:
    assert first_visible("\ufeff\ufeffx", 1, 2) == 1


@pytest.mark.parametrize(
    ("text", "units", "expected"), [("abc", 3, True), ("abcd", 3, False), ("a😀", 2, False)]
)
def test_fits(text: str, units: int, expected: bool) -> None:
    assert fits(text, units) is expected


def test_every_character_that_extends_another() -> None:
    """The quick answers agree with the Unicode property."""
    wanted = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]")
    chars = "".join(
        map(chr, [*range(0xD800), *range(0xE000, 0x1_1000), *range(0x1_F000, 0x2_0000)])
    )
    found = {at for at in range(len(chars)) if extends(chars, at)}
    assert found == {one.start() for one in wanted.finditer(chars)}


@pytest.mark.parametrize(
    "char", ["\x1c", "\x85", "\xa0", "\u061c", "\u2028", "\ufeff", "\U000e0001"]
)
def test_what_no_reader_sees(char: str) -> None:
    assert not has_visible(char)
    assert has_visible(char + "a")
