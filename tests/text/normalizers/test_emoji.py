"""Custom emoji: resolved, standard, removed, repeated."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.text.config import TextConfig
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers

LIST = ("<:soup:111>", "<:Soup2:112>", "<:SOUP2:113>", "<a:dance:222>")


def run(text: str, **settings: Any) -> SegmentWork:
    work = SegmentWork([TextPiece(text)])
    Normalizers(TextConfig(**{"emojis": LIST, **settings})).run(work)
    return work


def shown(text: str, **settings: Any) -> str:
    return "\n".join(piece.text for piece in run(text, **settings).pieces)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":soup:", "<:soup:111>"),
        ("a :SOUP: b", "a <:soup:111> b"),
        (":SOUP2: :soup2:", "<:SOUP2:113> <:Soup2:112>"),
        (":dance::soup:", "<a:dance:222><:soup:111>"),
        ("(:soup:)", "(<:soup:111>)"),
        ("美味しい:soup:です", "美味しい<:soup:111>です"),
        ("<:soup:111>", "<:soup:111>"),
        ("<:renamed:111>", "<:renamed:111>"),
        ("<:soup:999>", "<:soup:111>"),
        ("<:soup:>", "<:soup:111>"),
        ("nice :smile: :slight_smile: :+1: :100: :x:", "nice 😄 🙂 👍 💯 ❌"),
        (":flag_jp: :flag_at: :heart:", "🇯🇵 🇦🇹 ❤️"),
    ],
)
def test_found(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello :nope:", "hello"),
        (":nope: hello", "hello"),
        ("a :nope: b", "a b"),
        ("a :nope:, b", "a, b"),
        ("a :nope: :)", "a :)"),
        ("a :nope::nada: b", "a b"),
        ("a :nope: :nada: b", "a b"),
        ("a\n:nope:\nb", "a\nb"),
        ("- :nope: b", "- b"),
        ("x<:nope:999>y", "x y"),
        ("a <:nope:999> b", "a b"),
        (":nope:", ""),
        ("> :nope:", ""),
    ],
)
def test_removed_without_a_trace(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "meet at 10:30: or 11:45: ok",
        "10:30:45",
        "at :30: sharp",
        "std::vector and ::nope::",
        "http://x.test:8080/:nope: ok",
        "see :ref:`x`",
        "key:value:pair",
        "C:nope:x",
        "`:nope:` ``:soup:``",
        "a :n: b",
        "<t:123:R> </cmd:1> <@1>",
        "| a |\n|:---:|",
        "2001:db8::nope:1",
    ],
)
def test_text_stays(text: str) -> None:
    assert shown(text) == text


def test_without_a_list() -> None:
    text = "a :nope: b <:known_elsewhere:5>"
    assert shown(text, emojis=()) == text


def test_preserved() -> None:
    text = "a :nope: <:nope:999> b"
    assert shown(text, emoji_preserve_unresolved_shortcodes=True) == text


def test_disabled() -> None:
    work = run("a :soup: <:any:5> :smile: :nope: b 10:30: `:smile:`", emoji_usage_enabled=False)
    assert [piece.text for piece in work.pieces] == ["a b 10:30: `:smile:`"]
    gone = [":soup:", "<:any:5>", ":smile:", ":nope:"]
    assert work.withheld == [(text, "emoji_disabled") for text in gone]


def test_disabled_wins_over_preserved() -> None:
    settings = {"emoji_usage_enabled": False, "emoji_preserve_unresolved_shortcodes": True}
    assert [piece.text for piece in run("a :nope: b", **settings).pieces] == ["a b"]


def test_unresolved_is_in_the_ledger() -> None:
    assert run("a :nope: b").withheld == [(":nope:", "unresolved_shortcode")]


RECENT = ("old <:dance:222>", "hi <:Soup:111>", "-", "-", "-", "-")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello :soup: again", "hello again"),
        ("hello <:SOUP:111> again", "hello again"),
        ("hello `:soup:` again", "hello `:soup:` again"),
        (":soup:", "<:soup:111>"),
        (":soup: !!", "<:soup:111> !!"),
        ("1. :soup:", "1. <:soup:111>"),
        (":soup: 🎉", "🎉"),
        ("ok :dance: twice :dance:", "ok <a:dance:222> twice <a:dance:222>"),
    ],
)
def test_repeats(text: str, expected: str) -> None:
    assert shown(text, recent_bot_messages=RECENT) == expected


def test_repeats_are_in_the_ledger_and_can_be_switched_off() -> None:
    recent: dict[str, Any] = {"recent_bot_messages": RECENT}
    assert run("a :soup: b", **recent).withheld == [(":soup:", "duplicate_emoji")]
    assert shown("a :soup: b", emoji_unique_lookback=0, **recent) == "a <:soup:111> b"
