"""Cell Markdown → spans."""

from __future__ import annotations

import pytest

from oshaberi.render.cell_markdown import CellMark, StyledSpan, parse_cell, plain_text


def looks(cell: str) -> list[tuple[str, CellMark]]:
    return [(span.text, span.marks) for span in parse_cell(cell)]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("plain", [("plain", CellMark.PLAIN)]),
        ("", []),
        ("**b**", [("b", CellMark.BOLD)]),
        ("*i* _j_", [("i", CellMark.ITALIC), (" ", CellMark.PLAIN), ("j", CellMark.ITALIC)]),
        ("***x***", [("x", CellMark.BOLD | CellMark.ITALIC)]),
        ("*a **b***", [("a ", CellMark.ITALIC), ("b", CellMark.ITALIC | CellMark.BOLD)]),
        ("**a*b**", [("a", CellMark.BOLD), ("*", CellMark.BOLD), ("b", CellMark.BOLD)]),
        ("__u__ ~~s~~", [("u", CellMark.UNDERLINE), (" ", CellMark.PLAIN), ("s", CellMark.STRIKE)]),
        ("`**x**`", [("**x**", CellMark.CODE)]),
        (r"`a\|b`", [("a|b", CellMark.CODE)]),
        ("**`x`**", [("x", CellMark.CODE | CellMark.BOLD)]),
        ("**「強調」**です", [("「強調」", CellMark.BOLD), ("です", CellMark.PLAIN)]),
        ("[a **b**](http://x.y)", [("a ", CellMark.LINK), ("b", CellMark.LINK | CellMark.BOLD)]),
        ("[`f`](http://x.y/a_(b))", [("f", CellMark.LINK | CellMark.CODE)]),
        ("http://x.y/a_b_c.", [("http://x.y/a_b_c", CellMark.LINK), (".", CellMark.PLAIN)]),
        (
            "<@1> <@&2>",
            [("@user", CellMark.MENTION), (" ", CellMark.PLAIN), ("@role", CellMark.MENTION)],
        ),
        ("<#3>", [("#channel", CellMark.MENTION)]),
        ("</play now:3>", [("/play now", CellMark.MENTION)]),
    ],
)
def test_looks(cell: str, expected: list[tuple[str, CellMark]]) -> None:
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
    assert parse_cell("[a](http://x.y)") == [StyledSpan("a", CellMark.LINK, "http://x.y")]
