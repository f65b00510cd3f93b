"""The fallback that cannot fail."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.events import Alignment, Table
from oshaberi.render import alt_text, table_as_code
from oshaberi.render.text_forms import cell_lines, display_width, wrap
from oshaberi.text.measure import utf16_len

ALIGNMENTS: list[Alignment] = ["left", "center", "right", "none"]
CELL = st.text(max_size=80) | st.sampled_from(
    [
        "**bold**",
        "日本語のテキスト",
        "👨‍👩‍👧‍👦👍🏽🇯🇵",
        "```",
        "a<br>b",
        "x" * 300,
        "e" + "\u0301" * 500,
        "שלום",
    ]
)
ROW = st.lists(CELL, max_size=6).map(tuple)
TABLES = st.builds(
    Table,
    source=st.just(""),
    header=ROW,
    rows=st.lists(ROW, max_size=8).map(tuple),
    alignments=st.lists(st.sampled_from(ALIGNMENTS), max_size=6).map(tuple),
)


def table(*rows: tuple[str, ...], alignments: tuple[Alignment, ...] = ()) -> Table:
    return Table("", rows[0], rows[1:], alignments)


def bodies(messages: list[str]) -> list[list[str]]:
    assert all(message.startswith("```\n") and message.endswith("\n```") for message in messages)
    return [message[4:-4].split("\n") for message in messages]


def test_columns_are_aligned() -> None:
    shown = table(
        ("Name", "Qty", "Ok"),
        ("**Apple**", "3", "✅"),
        ("りんご", "12", "no"),
        alignments=("left", "right", "center"),
    )
    assert table_as_code(shown, 1950) == [
        "```\nName   | Qty | Ok\n-------+-----+---\nApple  |   3 | ✅\nりんご |  12 | no\n```"
    ]


def test_wide_cells_wrap_between_rules() -> None:
    long = "several words that need more than one line " * 3
    (lines,) = bodies(table_as_code(table(("A", "B"), ("1", long), ("2", "short")), 1950))
    assert max(display_width(line) for line in lines) <= 64
    assert sum(line.startswith("--") for line in lines) == 2
    assert lines[-1] == "2 | short"


def test_too_many_columns_become_records() -> None:
    header = tuple(f"Column {i}" for i in range(12))
    (lines,) = bodies(table_as_code(table(header, header, ("a<br>b", *[""] * 11)), 1950))
    assert lines[:2] == ["Column 0: Column 0", "Column 1: Column 1"]
    assert lines[12:] == ["", "Column 0: a", "  b"]


def test_long_names_are_told_once() -> None:
    header = (*(f"Column {i}" for i in range(12)), "n" * 100)
    text = "\n".join(table_as_code(table(header, *[("x",) * 13] * 20), 1950))
    assert text.count("n" * 100) == 1
    assert text.count("n" * 40 + "…: x") == 20


def test_long_tables_repeat_the_header() -> None:
    rows = [(f"row {i}", str(i)) for i in range(300)]
    pages = bodies(table_as_code(table(("Name", "#"), *rows), 500))
    assert len(pages) > 5
    assert all(page[0].startswith("Name") and page[1].startswith("--") for page in pages)
    assert [line.split(" |")[0].strip() for page in pages for line in page[2:]] == [
        name for name, _ in rows
    ]


def test_a_blank_header_is_not_shown() -> None:
    assert table_as_code(table(("", ""), ("a", "b")), 1950) == ["```\na | b\n```"]


def test_nested_fences_cannot_close_the_block() -> None:
    (message,) = table_as_code(table(("A",), ("`````",)), 1950)
    assert message.count("```") == 2


def test_addresses_stay() -> None:
    (message,) = table_as_code(table(("A",), ("[docs](https://a.b/c)",)), 1950)
    assert "docs (https://a.b/c)" in message


@given(TABLES, st.integers(100, 2000))
def test_any_table(shown: Table, max_length: int) -> None:
    messages = table_as_code(shown, max_length)
    pages = bodies(messages)
    assert messages
    assert all(utf16_len(message) <= max_length for message in messages)
    assert all(message.count("```") == 2 for message in messages)
    told = Counter("".join(line for page in pages for line in page))
    cells = (cell for row in (shown.header, *shown.rows) for cell in row)
    asked = Counter("".join(line for cell in cells for line in cell_lines(cell)))
    del asked[" "]
    assert not asked - told


@given(TABLES)
def test_any_alt_text(shown: Table) -> None:
    text = alt_text(shown)
    assert utf16_len(text) <= 1024
    assert text == text.strip()
    assert text.encode(errors="replace").decode() == text


def test_alt_text_is_read_row_by_row() -> None:
    shown = table(("Name", "Age"), ("**Ann**", "30"), ("", "4"))
    assert alt_text(shown) == "Name: Ann, Age: 30\nAge: 4"
    assert alt_text(table(("Name", "Age"))) == "Name, Age"


def test_alt_text_counts_what_it_leaves_out() -> None:
    text = alt_text(table(("N",), *[(f"number {i}",) for i in range(200)]))
    told, rest = text.rsplit("\n", 1)
    assert rest == f"… (+{200 - len(told.splitlines())})"
    assert alt_text(table(("N",), ("x" * 3000,), ("y",))).endswith("x… (+1)")


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("👨‍👩‍👧‍👦", 2),
        ("🇯🇵", 2),
        ("1️⃣", 2),
        ("한", 2),
        ("\u200b", 0),
    ],
)
def test_display_width(text: str, width: int) -> None:
    assert display_width(text) == width


def test_wrapping_breaks_words_only_if_it_must() -> None:
    assert wrap("aa bb cc", 5) == ["aa bb", "cc"]
    assert wrap("a abcdefgh", 4) == ["a", "abcd", "efgh"]
    assert wrap("日本語です", 4) == ["日本", "語で", "す"]
