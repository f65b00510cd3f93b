"""Segments to messages: by line, by sentence, by length; L1, L3, L4 and L5."""

from __future__ import annotations

import re
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from oshaberi.text.config import TextConfig
from oshaberi.text.line_kinds import begins_block, block_kind, indent, is_intro
from oshaberi.text.measure import has_visible, utf16_len
from oshaberi.text.messages.chunker import SegmentChunker
from tests.laws.visible_text import UNSEEN

SOUP = "<:soup:111111111111111111>"
DANCE = "<a:dance:222222222222222222>"


def chunker(limit: int = 1950, degree: int = 2, **settings: Any) -> SegmentChunker:
    return SegmentChunker(
        TextConfig(max_single_message_length=limit, humanizer_degree=degree, **settings)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  one line \n", ["one line"]),
        ("one\n\n \n two\nthree", ["one", "two", "three"]),
        ("- a\n  - b\n- c", ["- a\n  - b", "- c"]),
        ("  - a\n  - b", ["- a", "- b"]),
        ("1. a\n\n   more\nb\n c", ["1. a\n\n   more", "b", "c"]),
        ("a (b\nc) d\ne", ["a (b\nc) d", "e"]),
        (">>> a\nb\n\nc", [">>> a\nb", "c"]),
        (f"wow! {SOUP}\n{SOUP}\nok", ["wow!", SOUP, SOUP, "ok"]),
        (f"**wow! {SOUP}**\nok", [f"**wow! {SOUP}**", "ok"]),
        ("", []),
        (" \n\u200b\n", []),
        ("a\n\u200b\nb", ["a", "b"]),
        ("\u200b\nb", ["b"]),
    ],
)
def test_one_message_per_line(text: str, expected: list[str]) -> None:
    assert chunker(paragraph_mode="lines").split(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what\n?!\nreally", ["what?!", "really"]),
        ("what\n…\nreally", ["what…", "really"]),
        ("what\n...\nreally", ["what", "...", "really"]),
        (f"{SOUP} , {DANCE}", [f"{SOUP} ,", DANCE]),
        (".\nfoo", [". foo"]),
        (".\n!\nfoo", [".! foo"]),
        ("?", ["?"]),
    ],
)
def test_punctuation_alone_joins(text: str, expected: list[str]) -> None:
    assert chunker().split(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b\n  c\n\n- d\ntext\nmore", ["- a\n- b\n  c\n\n- d", "text", "more"]),
        ("> q\n>\n> r\n\n> s", ["> q\n>\n> r", "> s"]),
        ("-# x\n-# y\nz", ["-# x\n-# y", "z"]),
        ("# A\n## B\n\ntext\nmore", ["# A\n## B\n\ntext", "more"]),
        ("a\n# H\n- x\n- y\nb", ["a", "# H\n- x\n- y", "b"]),
        ("a\n# H", ["a", "# H"]),
    ],
)
def test_blocks_stay_together(text: str, expected: list[str]) -> None:
    assert chunker(paragraph_mode="blocks").split(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two is here. Dr. Smith left.", ["One.", "Two is here.", "Dr. Smith left."]),
        ("おはよう。元気？うん。", ["おはよう。", "元気？", "うん。"]),
        ('He said "Hi. Bye." and left. Ok.', ['He said "Hi. Bye." and left.', "Ok."]),
        ("- One. Two.\n  Three. Four.\nA. Nice day. B", None),
        ("> One. Two.", ["> One. Two."]),
        ("# One. Two.", ["# One. Two."]),
        ("See `a. b. C` now. Done.", ["See `a. b. C` now.", "Done."]),
        (f"うん。{SOUP}ね", ["うん。", SOUP, "ね"]),
    ],
)
def test_one_message_per_sentence(text: str, expected: list[str] | None) -> None:
    out = chunker(degree=3).split(text)
    if expected is None:
        assert out[0] == "- One. Two.\n  Three. Four."
    else:
        assert out == expected


def test_fit_keeps_what_fits() -> None:
    text = f"# T\n\na. b\n  c {SOUP}\n```py\nx\n```\nend"
    assert chunker(degree=0).fit(f" {text}\n") == [text]


def paragraph(words: int, end: str = "") -> str:
    return " ".join(["word"] * words) + end


@pytest.mark.parametrize(
    ("first", "gap", "second"),
    [
        (paragraph(12), "\n\n", f"{paragraph(4)}\n{paragraph(8)}"),
        (paragraph(12), "\n", f"{paragraph(3, '.')} {paragraph(8)}"),
        (paragraph(12, "."), " ", paragraph(12)),
        (paragraph(20), " ", paragraph(3)),
        ("漢" * 100, "", "漢" * 50),
        ("x" * 100, " ", "y" * 90),
        (paragraph(14), "\n\n", f"# Heading\n\n{paragraph(10)}"),
        (paragraph(14), "\n", f"- Like this:\n- {paragraph(10)}"),
        (paragraph(14), "\n", "# A\n## B\n" + paragraph(10)),
        (paragraph(10), " ", f"({paragraph(15)})"),
        (paragraph(10), " ", f"[{paragraph(10)}](https://a.test/{'x' * 20})"),
    ],
)
def test_fit_cuts_at_the_best_place(first: str, gap: str, second: str) -> None:
    assert chunker(100, degree=0).fit(first + gap + second) == [first, second]


def test_fenced_blocks_in_fit() -> None:
    code = "```py\n" + "x = 1\n" * 10 + "```"
    text = f"{paragraph(10)}\n\n{code}\n\n{paragraph(10)}"
    assert chunker(100, degree=0).fit(text) == [paragraph(10), code, paragraph(10)]
    long = "```py\n" + "x = 1\n" * 30 + "```"
    out = chunker(100, degree=0).fit(f"before\n{long}\nafter (a\n```\nb)\n```")
    assert out[0] == "before"
    assert out[-1] == "after (a\n```\nb)\n```"
    assert all(m.startswith("```py\nx") and m.endswith("1\n```") for m in out[1:-1])
    assert sum(m.count("x = 1") for m in out) == 30


@pytest.mark.parametrize("tail", [".", " .", "\n!", " ?!", "\n\n…"])
def test_full_message_leaves_no_stray_punctuation(tail: str) -> None:
    for text in ("x" * 100, paragraph(20) + "x", "漢" * 100):
        out = chunker(100, degree=0).fit(text + tail)
        assert len(out) == 2
        assert regex.search(r"\w", out[1])


def test_long_emoji_run_is_cut_between_emoji() -> None:
    run = [f"<:joe_{i}:31000000000000000{i % 10}>" for i in range(20)]
    out = chunker(100).split(" ".join(run))
    assert "".join(out) == "".join(run)
    assert all(re.fullmatch(r"(<:\w+:\d+>)+", m) and len(m) <= 100 for m in out)


FAMILY = "👨‍👩‍👧‍👦"


@pytest.mark.parametrize(
    "text",
    [
        "e" + "\u0301" * 3000,
        "👩" + "\u200d👩" * 1500,
        FAMILY * 400,
        "x" * 5000,
        "see https://a.test/" + "y" * 3000 + " ok",
        f"[{'text ' * 500}](https://a.test/{'z' * 3000}) ok",
        "`" + "code " * 600 + "`",
        "`" + "c" * 3000 + "`",
        "(" * 3000,
        "**" + "bold " * 600 + "**",
        "🇯🇵" * 900,
        "." * 3000,
    ],
)
@pytest.mark.parametrize("limit", [100, 1950])
def test_unbreakable_text_still_fits(text: str, limit: int) -> None:
    for degree in (0, 2, 3):
        made = chunker(limit, degree)
        out = made.split(text) if degree else made.fit(text)
        assert "".join("".join(out).split()) == "".join(text.split())
        check_form(out, limit)


def check_form(out: list[str], limit: int) -> None:
    for message in out:
        assert message == message.strip()
        assert has_visible(message)
        assert utf16_len(message) <= limit


ATOMS = [
    "https://a.test/x?y=(1)",
    "`a b. c`",
    "<@123>",
    "<t:1700000000:R>",
    "[a b](https://b.test)",
]
CLUSTERS = [FAMILY, "🇯🇵", "e\u0301", "👍🏽"]
WORDS = [*ATOMS, *CLUSTERS, "word", "word.", "Dr.", "wow!", "(a", "b)", '"q', 'q"', "**b", "b**"]
WORDS += [
    "漢字。",
    "「漢",
    "字」",
    "||s||",
    "~~s",
    "x" * 40,
    ":)",
    '5"',
    "note:",
    "- x",
    "> y",
    "# h",
]
GAPS = st.sampled_from([" ", " ", " ", "  ", "\n", "\n\n", "\n  ", "\n- ", "\n> ", "\n# "])
PROSE = st.lists(st.tuples(st.sampled_from(WORDS), GAPS), max_size=80).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)
LIMITS = st.sampled_from([100, 120, 1950])
MODES = st.sampled_from(["lines", "blocks"])


def clusters(text: str) -> list[str]:
    return [c for c in regex.findall(r"\X", text) if not c.isspace()]


@given(PROSE, LIMITS, st.sampled_from([0, 1, 3]), MODES)
def test_words_atoms_and_characters_survive(text: str, limit: int, degree: int, mode: str) -> None:
    made = chunker(limit, degree, paragraph_mode=mode)
    out = made.split(text) if degree else made.fit(text)
    check_form(out, limit)
    joined = " ".join(out)
    assert "".join(joined.split()) == "".join(text.split())
    if not set("漢字") & set(text):  # elsewhere words are only cut where they are too long
        assert joined.split() == text.split()
    assert clusters(joined) == clusters(text)
    for atom in ATOMS:
        assert sum(m.count(atom) for m in out) == text.count(atom)


ANYTHING = st.lists(
    st.sampled_from([SOUP, DANCE, "`", "``", "*", "**", "(", ")", "\n", " ", "\u200b", "\u200d"])
    | st.sampled_from(
        [".", "!", "…", "漢", "a" * 30, FAMILY, "\u0301", "https://a.test/", "|", "> "]
    )
    | st.text(max_size=4),
    max_size=80,
).map("".join)


@given(ANYTHING, LIMITS, st.sampled_from([0, 1, 3]), MODES)
@example("\u200b" * 250, 100, 0, "lines")
@example("\x07" * 250, 100, 1, "lines")
@example("\u3164\u2800", 100, 1, "lines")
@example("a" * 100 + " \u200b", 100, 0, "lines")
def test_any_text_makes_sound_messages(text: str, limit: int, degree: int, mode: str) -> None:
    text = text.replace("```", "")
    made = chunker(limit, degree, paragraph_mode=mode)
    out = made.split(text) if degree else made.fit(text)
    check_form(out, limit)
    ignored = regex.compile(rf"{UNSEEN}+")
    assert ignored.sub("", "".join(out)) == ignored.sub("", text)


CODE = st.lists(st.sampled_from(["", "  x = 1", "\ty", "a" * 50, "# c"]), max_size=12)


@given(st.lists(st.tuples(PROSE, CODE), max_size=4), LIMITS)
def test_fences_stay_balanced(blocks: list[tuple[str, list[str]]], limit: int) -> None:
    text = "".join(
        f"{prose}\n```py\n{''.join(line + chr(10) for line in code)}```\n" for prose, code in blocks
    )
    out = chunker(limit, degree=0).fit(text)
    check_form(out, limit)
    code_lines: list[str] = []
    for message in out:
        assert message.count("```") % 2 == 0
        for inside in message.split("```")[1::2]:
            assert inside.startswith("py\n")
            code_lines += inside[3:].split("\n")[:-1]
    assert code_lines == [line for _, code in blocks for line in code]


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["- a", "* a", "• a", "+ a", "1. a", "12) a", "  - a"], "list"),
        (["> a", ">>> a", ">", "\t> a"], "quote"),
        (["# a", "## a", "### a"], "heading"),
        (["-# a"], "subtext"),
        (["| a |", "|"], "table"),
        (["a", "", "-a", "**a**", "1.a", ">a", "#a", "#### a", "-#a", "||a||", "---"], "text"),
    ],
)
def test_lines_by_their_marker(lines: list[str], kind: str) -> None:
    assert [block_kind(line) for line in lines] == [kind] * len(lines)
    assert [begins_block(line + "\nx") for line in lines] == [kind != "text"] * len(lines)


def test_indent_fence_and_intro() -> None:
    assert [indent(line) for line in ("a", "  a", "\ta", "  \ta", "\t a", "   ")] == [
        0,
        2,
        4,
        4,
        5,
        3,
    ]
    assert begins_block("  ```py")
    assert all(map(is_intro, ("Like this:", "**So:** ", "次：", "# Title")))
    assert not any(map(is_intro, ("10:30", "- a", "text", "")))
