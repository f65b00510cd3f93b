"""Streamed code blocks: form, cuts, L1, L2, L4 and the source accounting."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.text.code_block_splitting import CodeBlock, split_code
from oshaberi.text.measure import utf16_len

FENCE = "```"


def run(
    pieces: list[str], limit: int = 1950, prefix: str = "", ticks: int = 3
) -> list[tuple[str, int]]:
    block = CodeBlock(limit, prefix, ticks)
    out: list[tuple[str, int]] = []
    for piece in pieces:
        out += block.feed(piece)
    return out + block.close()


def messages(text: str, limit: int = 1950, prefix: str = "", ticks: int = 3) -> list[str]:
    return [message for message, _ in run([text], limit, prefix, ticks)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("py\nprint(1)\n\nprint(2)\n", "```py\nprint(1)\n\nprint(2)\n```"),
        ("\nx\n", "```\nx\n```"),
        (" py \nx\n", "```py\nx\n```"),
        ("py title=a b\nx\n", "```py title=a b\nx\n```"),
        ("py\nx", "```py\nx```"),
        ("py\n  x\n  ", "```py\n  x\n```"),
        ("x", "```x```"),
        (" a b ", "``` a b ```"),
        ("", "```\n```"),
        ("  ", "```\n```"),
        ("\n", "```\n```"),
        ("py\n", "```py\n```"),
        ("\n\n\nx\n\n\n", "```\n\n\nx\n\n\n```"),
        ("py\nx`", "```py\nx`\n```"),
        ("x``", "```\nx``\n```"),
        (" `\nx\n", "```\n `\nx\n```"),
    ],
)
def test_a_block_that_fits_keeps_its_form(text: str, expected: str) -> None:
    assert messages(text) == [expected]


@pytest.mark.parametrize(
    ("prefix", "text", "expected"),
    [
        ("> ", "py\n> x = 1\n>   y\n>z\n>\nlazy\n> ", "```py\nx = 1\n  y\nz\n\nlazy\n```"),
        ("> > ", "\n> > x\n>> y\n> z\n> > ", "```\nx\ny\n> z\n```"),
        (" ", "py\n\u3000x\n ", "```py\n\u3000x\n```"),
        ("   ", "py\n   x\n     y\n z\n\n   ", "```py\nx\n  y\nz\n\n```"),
        ("\t", "py\n\tx\n\t\ty\n    z\n\t", "```py\nx\n\ty\nz\n```"),
        (">   ", "\n>   x\n>     y\n> z\n> ", "```\nx\n  y\nz\n```"),
        ("> ", "\n> > x\n> ", "```\n> x\n```"),
        (">", "\n>x\n>    y\n> z\n>\tt\n>", "```\nx\n    y\n z\n\tt\n```"),
        (" > ", "\n > x\n> y\n  z\n > ", "```\nx\ny\n  z\n```"),
    ],
)
def test_prefix_is_taken_from_each_line(prefix: str, text: str, expected: str) -> None:
    assert messages(text, prefix=prefix) == [expected]
    assert [m for m, _ in run(list(text), prefix=prefix)] == [expected]


def test_inner_runs_are_taken_apart() -> None:
    tick = "`\u200b`\u200b`"
    text = "md\n```py\nx `` y\n```\n"
    assert messages(text, ticks=4) == [f"```md\n{tick}py\nx `` y\n{tick}\n```"]
    assert run(list(text), ticks=4) == run([text], ticks=4)
    assert messages("a\nx```", ticks=5) == [f"```a\nx{tick}\n```"]


def test_message_leaves_when_it_is_certain() -> None:
    block = CodeBlock(100)
    line = "x" * 29 + "\n"
    assert block.feed("py\n" + line * 3) == []  # 6 + 90 + 3 = 99
    assert block.feed("yz") == [("```py\n" + line * 3 + "```", 93)]
    assert block.close() == [("```py\nyz```", 95)]


def test_line_end_counts_only_with_room_for_the_fence() -> None:
    full = "x" * 91
    assert messages(f"py\n{full}", 100) == [f"```py\n{full}```"]
    assert [len(m) for m in messages(f"py\n{full}\n", 100)] == [100, 11]


def test_closing_indent_makes_no_message_of_its_own() -> None:
    body = "py\n" + "x" * 90 + "\n"
    assert messages(body + " " * 40, 100) == [f"```{body}```"]


def test_blank_lines_and_indentation_survive_a_cut() -> None:
    source = [*("    x" * 5 for _ in range(3)), "", "", *("\ty" * 20 for _ in range(3)), "  "]
    out = messages("py\n" + "\n".join(source) + "\n", 100)
    assert len(out) > 2
    assert all(m.startswith("```py\n") and m.endswith("\n```") for m in out)
    assert "".join(body(m) for m in out).split("\n")[:-1] == source


def test_long_line_is_cut_at_blanks_and_between_characters() -> None:
    words = "word " * 50
    out = messages(f"\n{words}\n", 100)
    assert [body(m) for m in out[:-1]] == ["word " * 18 + "\n"] * 2
    family = "👨‍👩‍👧‍👦"
    out = messages("\n" + family * 40, 100)
    assert {m.strip("`\n").replace(family, "") for m in out} == {""}


FUNCTION = "def f():\n    one = 1\n\n    return one\n"  # 36 characters


def test_a_cut_falls_at_a_blank_line() -> None:
    source = f"{FUNCTION}\n{FUNCTION}\n{FUNCTION}"
    first, second = messages(f"py\n{source}", 100)
    assert body(first) == f"{FUNCTION}\n{FUNCTION}\n", "not in the middle of the third"
    assert body(second) == FUNCTION


def test_a_blank_line_before_an_unindented_line_is_preferred() -> None:
    source = f"{FUNCTION}{'# note' * 5}\n\n{FUNCTION}    more\n"
    first, second = messages(f"py\n{source}", 100)
    assert body(second) == f"{FUNCTION}    more\n", "though a later one is inside the function"
    assert body(first) + body(second) == source


def test_an_inner_blank_line_is_better_than_none() -> None:
    source = "x = 1\n" * 11 + "\n" + "    y\n" * 5
    first, second = messages(f"py\n{source}", 100)
    assert (body(first), body(second)) == ("x = 1\n" * 11 + "\n", "    y\n" * 5)


def test_blank_lines_before_the_last_third_do_not_count() -> None:
    source = "x = 1\n\n" + "y = 2\n" * 20
    first, *_ = messages(f"py\n{source}", 100)
    assert body(first) == "x = 1\n\n" + "y = 2\n" * 14


def test_all_blank_lines_of_a_cut_stay() -> None:
    source = f"{FUNCTION}\n{FUNCTION}\n  \n\n{FUNCTION}"
    out = messages(f"py\n{source}", 100)
    assert [body(one) for one in out] == [f"{FUNCTION}\n{FUNCTION}\n  \n\n", FUNCTION]


def test_a_long_line_behind_a_cut_is_no_reason_for_less() -> None:
    source = f"{FUNCTION}\n{FUNCTION}\nshort\n{'word ' * 30}\n"
    out = messages(f"py\n{source}", 100)
    assert "".join(body(one) for one in out).split() == source.split()
    assert body(out[0]) == f"{FUNCTION}\n{FUNCTION}\n"


def test_over_long_info_is_code() -> None:
    info = "word " * 300
    for text in (info, info + "\nx\n"):
        out = messages(text, 100)
        assert all(len(m) <= 100 and m.startswith("```\n") for m in out)
        assert "".join(body(m) for m in out).split() == text.split()


def test_split_code() -> None:
    block = "```py\n" + "print(1)\n" * 30 + "```"
    assert split_code(block, 1950) == [block]
    out = split_code(block, 100)
    assert "".join(body(m) for m in out) == "print(1)\n" * 30
    assert split_code("```" + "x" * 194 + "```", 100) == [
        "```\n" + "x" * 92 + "\n```",
        "```\n" + "x" * 92 + "\n```",
        "```\n" + "x" * 10 + "```",
    ]


def body(message: str) -> str:
    inside = re.sub(r"^```[^\n]*\n", "", message)
    return inside[: -len(FENCE)]


ALPHABET = st.sampled_from(
    [
        *"ab \t\n>`é漢𝐱\u0301\u200b",
        "  ",
        "\n\n",
        "> ",
        "e\u0301",
        " \u0301",
        "👨‍👩‍👧‍👦",
        "🇯🇵",
        "word " * 9,
        "x" * 60,
        "\n    if x:",
        "py\n",
    ]
)
SOURCE = st.lists(ALPHABET, max_size=60).map("".join)
PREFIX = st.sampled_from(["", "> ", "  ", "\t", ">", "  > > "])


def without_runs(text: str, ticks: int) -> str:
    """`text` as it may stand inside a block opened with `ticks`."""
    return re.sub("`" * ticks + "+", "`" * (ticks - 1), text.lstrip("`"))


@given(SOURCE, PREFIX, st.sampled_from([3, 4, 6]), st.sampled_from([100, 137, 1950]), st.data())
def test_block_laws(text: str, prefix: str, ticks: int, limit: int, data: st.DataObject) -> None:
    text = without_runs(text, ticks)
    whole = run([text], limit, prefix, ticks)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    assert run(pieces, limit, prefix, ticks) == whole
    assert run(list(text), limit, prefix, ticks) == whole

    ends = [end for _, end in whole]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text)
    for message, _ in whole:
        assert utf16_len(message) <= limit
        assert message == message.strip()
        assert [m.end() for m in re.finditer("`{3,}", message)] == [3, len(message)]


@given(SOURCE, st.sampled_from([100, 1950]))
def test_every_line_survives(text: str, limit: int) -> None:
    code = without_runs(text, 3)
    lines = code.split("\n")
    out = messages("py\n" + code + "\n", limit)
    assert "".join(body(m) for m in out).replace("\n", "") == code.replace("\n", "")
    if all(utf16_len(line) < limit - 9 for line in lines):
        assert "".join(body(m) for m in out) == code + "\n"


@given(st.lists(st.integers(0, 60), max_size=40))
def test_messages_are_as_full_as_lines_allow(widths: list[int]) -> None:
    lines = ["x" * width + "\n" for width in widths]
    out = messages("py\n" + "".join(lines), 100)
    for message, following in itertools.pairwise(out):
        first = body(following).split("\n")[0] + "\n"
        at_blank = body(message).endswith("\n\n")
        assert at_blank or len(message) + len(first) > 100


@given(st.lists(st.integers(0, 60), max_size=40))
def test_a_blank_line_costs_a_third_of_a_message_at_most(widths: list[int]) -> None:
    lines = ["x" * width + "\n" for width in widths]
    out = messages("py\n" + "".join(lines), 100)
    rest = "".join(lines)
    for message in out[:-1]:
        kept = [""]
        for line in rest.splitlines(keepends=True):
            kept.append(kept[-1] + line)
        full = max(len(one) for one in kept if len(one) <= 91)
        assert 3 * (full - len(body(message))) <= full
        rest = rest.removeprefix(body(message))


def test_source_ends_are_where_the_text_was_cut() -> None:
    text = "py\n> ```\n> " + "word ``` " * 40 + "\n> done\n> "
    out = run([text], 100, "> ", 4)
    starts = [0, *(end for _, end in out)]
    for (message, end), start in zip(out, starts, strict=False):
        source = text[start:end].removeprefix("py\n").replace("> ", "")
        assert body(message).replace("\u200b", "").strip() == source.strip()
