"""Spec 05, before everything: newlines, surrogate halves, NUL."""

from __future__ import annotations

import pytest

from oshaberi.text.intake import CharacterIntake

from .engine_runs import messages


def read(*pieces: str) -> list[str]:
    intake = CharacterIntake()
    return [*(intake.feed(piece) for piece in pieces), intake.finish()]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["a\r\nb\rc\n"], ["a\nb\nc\n", ""]),
        (["a\r", "\nb"], ["a", "\nb", ""]),
        (["a\r", "b"], ["a", "\nb", ""]),
        (["a\r", "\r", "\n"], ["a", "\n", "\n", ""]),
        (["a\r"], ["a", "\n"]),
        (["a\r", "\0", "\nb"], ["a", "", "\nb", ""]),
        (["a\0b\0"], ["ab", ""]),
        (["\ud83d", "\ude00!"], ["", "😀!", ""]),
        (["\ud83d", "\0", "\ude00"], ["", "", "😀", ""]),
        (["\ud83d x"], ["\ufffd x", ""]),
        (["\ud83d", "x"], ["", "\ufffdx", ""]),
        (["\ud83d", "\ud83d\ude00"], ["", "\ufffd😀", ""]),
        (["\ude00"], ["\ufffd", ""]),
        (["a\ud83d"], ["a", "\ufffd"]),
        (["plain"], ["plain", ""]),
        ([""], ["", ""]),
    ],
)
def test_made_plain(pieces: list[str], expected: list[str]) -> None:
    assert read(*pieces) == expected


def test_keeps_back_one_character_at_most() -> None:
    intake = CharacterIntake()
    assert intake.feed("x" * 1000 + "\r") == "x" * 1000
    assert intake.feed("\r" * 1000) == "\n" * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb", ["a", "b"]),
        ("a\r\r\nb", ["a", "b"]),
        ("a\r", ["a"]),
        ("a\0b", ["ab"]),
        ("\ud83d\ude00 ok", ["😀 ok"]),
        ("\ud83d x \ude00", ["\ufffd x \ufffd"]),
        ("```\r\nx\r\n\r\ny\r\n```", ["```\nx\n\ny\n```"]),
    ],
)
def test_engine_takes_it_in(text: str, expected: list[str]) -> None:
    assert messages(text) == expected
