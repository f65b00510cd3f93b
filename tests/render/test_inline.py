"""Cell Markdown → spans."""

from __future__ import annotations

import pytest

from oshaberi.render.inline import Mark, Span, parse_cell, plain_text


def looks(cell: str) -> list[tuple[str, Mark]]:
    return [(span.text, span.marks) for span in parse_cell(cell)]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("plain", [("plain", Mark.PLAIN)]),
        ("", []),
        ("**b**", [("b", Mark.BOLD)]),
        ("*i* _j_", [("i", Mark.ITALIC), (" ", Mark.PLAIN), ("j", Mark.ITALIC)]),
        ("***x***", [("x", Mark.BOLD | Mark.ITALIC)]),
        ("*a **b***", [("a ", Mark.ITALIC), ("b", Mark.ITALIC | Mark.BOLD)]),
        ("**a*b**", [("a", Mark.BOLD), ("*", Mark.BOLD), ("b", Mark.BOLD)]),
        ("__u__ ~~s~~", [("u", Mark.UNDERLINE), (" ", Mark.PLAIN), ("s", Mark.STRIKE)]),
        ("`**x**`", [("**x**", Mark.CODE)]),
        (r"`a\|b`", [("a|b", Mark.CODE)]),
        ("**`x`**", [("x", Mark.CODE | Mark.BOLD)]),
        ("**「強調」**です", [("「強調」", Mark.BOLD), ("です", Mark.PLAIN)]),
        ("[a **b**](http://x.y)", [("a ", Mark.LINK), ("b", Mark.LINK | Mark.BOLD)]),
        ("[`f`](http://x.y/a_(b))", [("f", Mark.LINK | Mark.CODE)]),
        ("http://x.y/a_b_c.", [("http://x.y/a_b_c", Mark.LINK), (".", Mark.PLAIN)]),
        ("<@1> <@&2>", [("@user", Mark.MENTION), (" ", Mark.PLAIN), ("@role", Mark.MENTION)]),
        ("<#3>", [("#channel", Mark.MENTION)]),
        ("</play now:3>", [("/play now", Mark.MENTION)]),
    ],
)
def test_looks(cell: str, expected: list[tuple[str, Mark]]) -> None:
    assert looks(cell) == expected


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name", "snake_case_name"),
        ("**open", "**open"),
        ("a****b", "a****b"),
        (r"\*not\* \| pipe", "*not* | pipe"),
        ("a<br>b<BR />c", "a\nb\nc"),
        ("<:pepe:123> <a:dance:4>", ":pepe: :dance:"),
        ("<t:0:d> <t:0:t> <t:0>", "1970-01-01 00:00 UTC 1970-01-01 00:00 UTC"),
        ("<t:99999999999999999>", "<t:99999999999999999>"),
        ("&lt;b&gt; &amp; &nosuch;", "<b> & &nosuch;"),
        ("[no](link", "[no](link"),
        ("lone ` tick", "lone ` tick"),
    ],
)
def test_words(cell: str, words: str) -> None:
    assert plain_text(cell) == words


def test_addresses_follow_their_link_once() -> None:
    cell = "[**a** b](http://x.y) http://z.w"
    assert plain_text(cell, addresses=True) == "a b (http://x.y) http://z.w"
    assert parse_cell("[a](http://x.y)") == [Span("a", Mark.LINK, "http://x.y")]
