"""Invisible characters and fancy letters, where the switches are on."""

from __future__ import annotations

import pytest

from oshaberi.text.config import TextConfig
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers

ON = TextConfig(uncensor_sanitize_enabled=True, uncensor_unicode_space_enabled=True)


def run(text: str, config: TextConfig = ON) -> SegmentWork:
    work = SegmentWork([TextPiece(text)])
    Normalizers(config).run(work)
    return work


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u2800b", "a b"),
        ("a\u200bb\u2060c\u00add", "abcd"),
        ("\u202eabc\u202c", "abc"),
        ("𝓗𝒆𝓵𝓵𝓸 𝔴𝔬𝔯𝔩𝔡", "Hello world"),
        ("𝑝ℎ𝑜𝑛𝑒", "phone"),
        ("ｈｅｌｌｏ！ ４２", "hello! 42"),
        ("x\u200dy", "xy"),
        ("a\ufe0f", "a"),
    ],
)
def test_undone(text: str, expected: str) -> None:
    assert run(text).pieces[0].text == expected


@pytest.mark.parametrize(
    "text",
    [
        "👩‍💻 ❤️‍🔥 🏳️‍🌈 👍🏽 1️⃣ ☹️",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "क्\u200dष क्\u200cष",
        "葛\U000e0100城",
        "そう！（笑）",
        "ℝ and ℕ",
        "`a\u200bb ｘ`",
        "`\u200b``",
        "٤\u0600",
    ],
)
def test_needed_characters_stay(text: str) -> None:
    assert run(text).pieces[0].text == text


def test_removed_characters_are_in_the_ledger() -> None:
    assert run("a\u200b\u200bb").withheld == [("\u200b\u200b", "uncensor")]


def test_off_by_default() -> None:
    text = "a\u2800\u200b𝓗"
    assert run(text, TextConfig()).pieces[0].text == text


def test_each_switch_does_its_own() -> None:
    text = "a\u2800\u200b"
    space = TextConfig(uncensor_unicode_space_enabled=True)
    sanitize = TextConfig(uncensor_sanitize_enabled=True)
    assert run(text, space).pieces[0].text == "a \u200b"
    assert run(text, sanitize).pieces[0].text == "a\u2800"


def test_no_fence_is_made_by_taking_out_what_parts_backticks() -> None:
    work = run("``\ufe0f`x`")
    assert work.pieces[0].text == "``\ufe0f`x`"
    assert not work.withheld
