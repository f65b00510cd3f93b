"""Markdown tables: header, separator, rows, cells (spec 05 B7, 06 S8)."""

from __future__ import annotations

import pytest

from oshaberi.events import Alignment, Table, Withheld
from oshaberi.text.markdown_tables import cells, header_width, is_row, parse, separator
from oshaberi.text.segments.buffer import NEVER, VisibleBuffer
from oshaberi.text.segments.table_blocks import TableReader

from .engine_runs import run, shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("| a | b |", ["a", "b"]),
        ("a | b", ["a", "b"]),
        ("|a|b", ["a", "b"]),
        ("a|b|", ["a", "b"]),
        ("| a |  | c |", ["a", "", "c"]),
        ("| a \\| b | c |", ["a \\| b", "c"]),
        ("| `a|b` | c |", ["`a|b`", "c"]),
        ("| a ` b | c |", ["a ` b", "c"]),
        ("plain", ["plain"]),
        ("|", [""]),
    ],
)
def test_cells(line: str, expected: list[str]) -> None:
    assert cells(line) == expected


@pytest.mark.parametrize(
    ("line", "width"),
    [
        ("| a | b |", 2),
        ("a | b | c", 3),
        ("| a |", 0),
        ("no bar", 0),
        ("||x||", 0),
        ("so ||x|| and ||y||", 0),
        ("`a|b`", 0),
        ("a \\| b", 0),
        ("| ||x|| | b |", 6),
    ],
)
def test_header(line: str, width: int) -> None:
    assert header_width(line) == width


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("|---|---|", ("none", "none")),
        ("| :-- | :-: | --: |", ("left", "center", "right")),
        ("-|-", ("none", "none")),
        (":-:", ("center",)),
        ("| --- | x |", ()),
        ("| --- |  |", ()),
        ("| - - |", ()),
        ("|::|", ()),
    ],
)
def test_separator(line: str, expected: tuple[Alignment, ...]) -> None:
    assert separator(line) == expected


@pytest.mark.parametrize(
    ("line", "leading_bar", "expected"),
    [
        ("| 1 | 2 |", True, True),
        ("  | 1", True, True),
        ("1 | 2", True, False),
        ("1 | 2", False, True),
        ("no bar", False, False),
        ("| 1 | ```", True, False),
        ("", True, False),
    ],
)
def test_row(line: str, leading_bar: bool, expected: bool) -> None:
    assert is_row(line, leading_bar) is expected


def test_parse_makes_rows_as_wide_as_the_header() -> None:
    source = "| a | b |\n|:--|--:|\n| 1 |\n| 1 | 2 | 3 |\n| x \\| y | z |"
    assert parse(source) == (
        ("a", "b"),
        (("1", ""), ("1", "2 | 3"), ("x | y", "z")),
        ("left", "right"),
    )


def test_event_carries_the_cells() -> None:
    [event] = run("| a | b |\n|---|:-:|\n| 1 | `x|y` |")
    assert isinstance(event, Table)
    assert event.header == ("a", "b")
    assert event.rows == (("1", "`x|y`"),)
    assert event.alignments == ("none", "center")


def test_a_header_has_one_line() -> None:
    """Inline code goes over a line break, but not within a header, and not into a table."""
    text = "a | `b\nc` | d\n---|---|---\n1 | 2 | 3"
    assert shown(run(text, humanizer_degree=1))[0] == ("a | `b\nc` | d", "newline")
    table = "| a | b` |\n|---|---|\n| 1 | 2 |"
    assert shown(run(f"A ` here:\n{table}", humanizer_degree=1)) == [
        ("A ` here:", "newline"),
        (table, "table"),
    ]


def test_tables_stand_in_their_place() -> None:
    """S8: the text around them are segments of their own, at every degree."""
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    for degree in range(4):
        found = shown(run(f"one\n\n{table}\n\ntwo\n{table}\nsix", humanizer_degree=degree))
        assert [text for text, _ in found] == ["one", table, "two", table, "six"]


def test_emoji_and_mentions_in_cells() -> None:
    soup = "<:soup:111111111111111111>"
    [event] = run(
        "| a | :soup: |\n|---|---|\n| @bob | `:soup:` |",
        emojis=[soup],
        known=[{"name": "bob", "id": "12"}],
    )
    assert isinstance(event, Table)
    assert (event.header, event.rows) == (("a", soup), (("<@12>", "`:soup:`"),))


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("", None),
        ("| 1", None),
        ("| 1 |\n| 2 ", None),
        ("| 1 |\nx", "end"),
        ("| 1 |\n\n", "end"),
        ("x", "end"),
        ("| 1 |\n" * 20, "too long"),
        ("| " + "1" * 100, "too long"),
    ],
)
def test_rows_as_they_come(rest: str, told: str | None) -> None:
    head = "| a | b |\n|---|---|\n"
    buffer = VisibleBuffer(NEVER)
    buffer.text = head + rest
    again = TableReader(buffer, len(head), 100).read(final=False)
    if again is None:
        assert told is None
    else:
        assert told == ("too long" if again.refused else "end")
        assert again.fresh_line == (told == "end")
    assert bool(buffer.take()) == (told == "end")


def test_what_is_taken_out_of_a_table_is_told() -> None:
    text = "before\n| a | b |\n|---|---|\n| :nope_x: | 1 |\nafter"
    told = run(text, emojis=("<:soup:111111111111111111>",))
    kinds = [type(event).__name__ for event in told]
    assert kinds == ["Message", "Table", "Withheld", "Message"]
    (withheld,) = [event for event in told if isinstance(event, Withheld)]
    (table,) = [event for event in told if isinstance(event, Table)]
    assert (withheld.text.strip(), withheld.segment) == (":nope_x:", table.segment)
