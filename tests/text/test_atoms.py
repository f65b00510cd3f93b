"""Inline code, URLs and Discord's tokens: one definition each (spec 05)."""

from __future__ import annotations

import pytest

from oshaberi.text.atoms import (
    CUSTOM_EMOJI,
    DISCORD_TOKEN,
    code_spans,
    inline_code_close,
    protected,
    urls,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a `b` c", ["`b`"]),
        ("``a ` b`` c", ["``a ` b``"]),
        ("`a``b` c", ["`a``b`"]),
        ("`a` `b`", ["`a`", "`b`"]),
        ("`a\nb`", ["`a\nb`"]),
        ("`a\n  -b`", ["`a\n  -b`"]),
        ("``a\n` b``", ["``a\n` b``"]),
        ("`a\nb` `c\nd`", ["`a\nb`", "`c\nd`"]),
        ("`a\nb\nc`", []),
        ("`a\n\nb`", []),
        ("`a\n \nb`", []),
        ("`a\n- b`", []),
        ("`a\n 1. b`", []),
        ("`a\n# b`", []),
        ("`a\n> b`", []),
        ("`a\n| b`", []),
        ("`a\n```b` c", []),
        ("`" + "x" * 10 + "\n" + "x" * 9 + "`", ["`" + "x" * 10 + "\n" + "x" * 9 + "`"]),
        ("`" + "x" * 10 + "\n" + "x" * 10 + "`", []),
        ("a ` b", []),
        ("``a` b", []),
        ("```a```", []),
        ("`a ```b``` c`", []),
        ("`" + "x" * 20 + "`", ["`" + "x" * 20 + "`"]),
        ("`" + "x" * 21 + "`", []),
        ("", []),
    ],
)
def test_inline_code(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in code_spans(text, 20)] == expected


@pytest.mark.parametrize(
    ("text", "close"),
    [
        ("`a", -1),
        ("`a`", -1),  # the run may go on
        ("`a` ", 3),
        ("`a\n", -1),
        ("`a\n-", -1),
        ("`a\n- ", -1),
        ("`a\n- b", 0),
        ("`a\n\n", 0),
        ("`a\nb", -1),
        ("`a\nb\n", 0),
        ("`a\nb` ", 5),
        ("`" + "x" * 20, -1),
        ("`" + "x" * 21, 0),
        ("`a```", -1),
        ("`a``` ", 0),
    ],
)
def test_undecided_inline_code(text: str, close: int) -> None:
    assert inline_code_close(text, 1, 1, 20, final=False) == close


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://x.y/z now", ["https://x.y/z"]),
        ("http://x ftp://y ftps://z", ["http://x", "ftp://y", "ftps://z"]),
        ("HTTPS://X.Y", ["HTTPS://X.Y"]),
        ("gopher://x mailto:a@b", []),
        # where it stops
        ("<https://x.y>", ["https://x.y"]),
        ("https://x.y<b", ["https://x.y"]),
        ('"https://x.y"', ["https://x.y"]),
        ("https://x.y`a", ["https://x.y"]),
        ("https://x.y|b", ["https://x.y"]),
        ("https://x.y/あ。次", ["https://x.y/あ"]),
        ("https://x.y，次", ["https://x.y"]),
        ("https://x.y「次", ["https://x.y"]),
        ("https://x.y）次", ["https://x.y"]),
        # what is given back
        *((f"https://x.y/z{mark}", ["https://x.y/z"]) for mark in ".,;:!?'*_~]"),
        ("https://x.y/z?!...", ["https://x.y/z"]),
        ("(https://x.y/z)", ["https://x.y/z"]),
        ("https://x.y/a_(b)", ["https://x.y/a_(b)"]),
        ("(https://x.y/a_(b))", ["https://x.y/a_(b)"]),
        ("https://x.y/a_(b)).", ["https://x.y/a_(b)"]),
        ("https://x.y/a.b?c=d!e", ["https://x.y/a.b?c=d!e"]),
        ("**https://x.y/z**", ["https://x.y/z"]),
        ("no url", []),
    ],
)
def test_urls(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in urls(text)] == expected


@pytest.mark.parametrize(
    "token",
    [
        "<:soup:111111111111111111>",
        "<a:dance:222222222222222222>",
        "<@123>",
        "<@!123>",
        "<@&123>",
        "<#123>",
        "<t:1700000000>",
        "<t:-5:R>",
        "</play song:123>",
    ],
)
def test_tokens(token: str) -> None:
    assert DISCORD_TOKEN.fullmatch(token)
    assert bool(CUSTOM_EMOJI.fullmatch(token)) == (":" in token[1:4] and token[1] in ":a")


@pytest.mark.parametrize("text", ["<b>", "<@bob>", "<:a b:1>", "<::1>", "<t:x>", "<#>", "< @1>"])
def test_not_tokens(text: str) -> None:
    assert DISCORD_TOKEN.search(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a `b` http://c <@1> d", ["`b`", "http://c", "<@1>"]),
        ("`http://a <@1>` b", ["`http://a <@1>`"]),
        ("<@1> `b`", ["<@1>", "`b`"]),
        ("plain", []),
    ],
)
def test_protected_is_disjoint_and_in_order(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in protected(text, 500)] == expected
