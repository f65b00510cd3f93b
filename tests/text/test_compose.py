"""Spec 06 S1 and spec 07 degrees, blocks, budget, aggregation: what goes into one message."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.events import Event, Identity, Message, Table, Withheld
from oshaberi.text.config import TextConfig
from oshaberi.text.engine import Carry, TextEngine

from .engine_runs import Ending, fed, messages, outcome, run, shown

BLOCK = "```\nx\n```"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
PERSONA = {
    "name": "Tomori",
    "sprites": [{"name": "mad", "avatar_url": "https://x.test/mad.png"}],
}


# -- S1 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # an expression goes in front of the next segment
        ("...\nhello", ["...hello"]),
        ("a\n...\nb", ["a", "...b"]),
        ("a\n…\nb", ["a", "…b"]),
        ("?!?\nyo", ["?!?yo"]),
        ("- x\n...\ny", ["- x", "...y"]),
        # several concatenate
        ("a\n...\n...\nb", ["a", "......b"]),
        ("!!!\n...\nyo", ["!!!...yo"]),
        # more than 100 leave on their own
        ("...\n" * 34 + "b", ["." * 102, "b"]),
        ("...\n" * 33 + "b", ["." * 99 + "b"]),
        # a block marker or a fence comes next
        ("a\n...\n- x", ["a", "...", "- x"]),
        ("a\n...\n1. x", ["a", "...", "1. x"]),
        ("a\n...\n# x", ["a", "...", "# x"]),
        ("a\n...\n> x", ["a", "...", "> x"]),
        ("a\n...\n-# x", ["a", "...", "-# x"]),
        (f"a\n...\n{BLOCK}", ["a", "...", BLOCK]),
        # the end
        ("a\n...", ["a", "..."]),
        ("...", ["..."]),
        # one or two are all there is
        (".", ["."]),
        ("?!", ["?!"]),
        ("。", ["。"]),
        # not punctuation
        ("a\n5", ["a", "5"]),
        ("a\nあ", ["a", "あ"]),
        ("a\n😀", ["a", "😀"]),
        ("a\nx\nb", ["a", "x", "b"]),
    ],
)
def test_orphans(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "stray"),
    [
        (f"{BLOCK}\n.", [BLOCK], "."),
        (f"{BLOCK}\n?!\nb", [BLOCK, "b"], "?!"),
        (".\na", ["a"], "."),
        (f"say:{BLOCK},", ["say:", BLOCK], ","),
    ],
)
def test_stray_fragments_are_withheld(text: str, expected: list[str], stray: str) -> None:
    found = outcome(run(text, humanizer_degree=1))
    assert (found.messages, found.withheld) == (expected, [(stray, "stray")])


def test_orphan_before_a_table_or_another_face_leaves_alone() -> None:
    found = shown(run(f"x\n...\n{TABLE}", humanizer_degree=1))
    assert [text for text, _ in found] == ["x", "...", TABLE]
    assert messages("...\nTomori (mad): hi", persona=PERSONA) == ["...", "hi"]
    assert messages("Tomori (mad): ...\nhi", persona=PERSONA) == ["...hi"]


# -- degrees ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("degree", "expected"),
    [
        (0, ["Hello There. You\n\nBye Now."]),
        (1, ["Hello There. You", "Bye Now."]),
        (2, ["Hello There. You", "Bye Now."]),
        (3, ["hello there", "you", "bye now"]),
    ],
)
def test_degrees(degree: int, expected: list[str]) -> None:
    assert messages("Hello There. You\nBye Now.", humanizer_degree=degree) == expected


def test_humanising_goes_by_the_seed_alone() -> None:
    text = "One, two, three; four, five, six, seven, eight."
    found = {tuple(messages(text, humanizer_degree=3, seed=seed)) for seed in range(20)}
    assert len(found) > 1
    assert messages(text, humanizer_degree=3, seed=7) == messages(text, humanizer_degree=3, seed=7)


@pytest.mark.parametrize(
    ("text", "lines", "blocks"),
    [
        ("c\n- a\n- b\nd", ["c", "- a", "- b", "d"], ["c", "- a\n- b", "d"]),
        ("1. a\n2. b", ["1. a", "2. b"], ["1. a\n2. b"]),
        ("> a\n> b\nc", ["> a", "> b", "c"], ["> a\n> b", "c"]),
        ("a\n# h\ntext\nmore", ["a", "# h", "text", "more"], ["a", "# h\ntext", "more"]),
        ("a\n# h\n## i\ntext", ["a", "# h", "## i", "text"], ["a", "# h\n## i\ntext"]),
        # a heading that begins the response leaves alone
        ("\n# h\ntext\nmore", ["# h", "text", "more"], ["# h", "text", "more"]),
        ("# h\n\n## i\ntext", ["# h", "## i", "text"], ["# h", "## i\ntext"]),
        ("# h", ["# h"], ["# h"]),
        ("- a\n\n- b", ["- a", "- b"], ["- a\n\n- b"]),
        (
            "1. a\n\n   more\n\n2. b\n\nc",
            ["1. a\n\n   more", "2. b", "c"],
            ["1. a\n\n   more\n\n2. b", "c"],
        ),
        ("> a\n\n> b", ["> a", "> b"], ["> a", "> b"]),
        ("- a\n> b", ["- a", "> b"], ["- a", "> b"]),
        # in both modes what continues an item stays with it
        ("- a\n  - b\n- c", ["- a\n  - b", "- c"], ["- a\n  - b\n- c"]),
        ("- a\n  more\nb", ["- a\n  more", "b"], ["- a\n  more", "b"]),
        ("1. a\n\n   more\nb", ["1. a\n\n   more", "b"], ["1. a\n\n   more", "b"]),
        ("a\n  b", ["a", "b"], ["a", "b"]),
    ],
)
def test_paragraph_mode(text: str, lines: list[str], blocks: list[str]) -> None:
    assert messages(text, paragraph_mode="lines") == lines
    assert messages(text, paragraph_mode="blocks") == blocks


def test_a_heading_leaves_alone_only_where_a_response_begins() -> None:
    def all_messages(**settings: Any) -> list[str]:
        events = fed(["# h\n\ntext"], TextConfig(humanizer_degree=1, **settings))
        return [event.text for event in events if isinstance(event, Message)]

    assert all_messages() == ["# h", "text"]
    assert all_messages(max_flush_count=2) == ["# h\n\ntext"]
    following = TextEngine(TextConfig(humanizer_degree=1), carried=Carry(messages=1))
    events = [*following.feed("# h\n\ntext"), *following.finish()]
    assert [event.text for event in events if isinstance(event, Message)] == ["# h\n\ntext"]


# -- budget -------------------------------------------------------------------------------------


def packed(text: str, degree: int = 1, most: int = 40) -> list[int]:
    """How many lines each message has."""
    found = messages(text, humanizer_degree=degree, max_flush_count=most)
    return [message.count("\n") + 1 for message in found]


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (19, [1] * 19),
        (20, [1] * 20),
        (21, [1] * 19 + [2]),
        (100, [1] * 19 + [81]),
    ],
)
def test_from_half_of_the_budget_lines_are_packed(
    degree: int, lines: int, expected: list[int]
) -> None:
    assert packed("\n".join(f"line {i}" for i in range(lines)), degree) == expected


@pytest.mark.parametrize(
    ("most", "expected"), [(1, [10]), (2, [10]), (3, [1, 9]), (4, [1, 9]), (1000, [1] * 10)]
)
def test_half_of_other_budgets(most: int, expected: list[int]) -> None:
    assert packed("\n".join("abcdefghij"), most=most) == expected


def test_one_message_per_paragraph_or_list() -> None:
    head = [f"l{i}" for i in range(19)]
    text = "\n".join(head) + f"\na\nb\n\nc\nd\n- x\n- y\ne\n{BLOCK}\nf"
    assert messages(text) == [*head, "a\nb", "c\nd", "- x\n- y", "e", BLOCK, "f"]


def test_from_three_quarters_on_messages_are_filled() -> None:
    paragraphs = [f"p{i}" for i in range(60)]
    found = messages("\n\n".join(paragraphs))
    assert found[:29] == paragraphs[:29]
    assert found[29:] == ["\n\n".join(paragraphs[29:])]


def test_packed_messages_keep_the_limit() -> None:
    found = messages("\n".join("word " * 20 for _ in range(400)))
    assert len(found) <= 40
    assert max(map(len, found)) <= 1950


# -- aggregation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "blank_line", "preserve"),
    [
        ("a\nb", "a\n\nb", "a\nb"),
        ("a\n\nb", "a\n\nb", "a\n\nb"),
        ("a\n\n\n\nb", "a\n\nb", "a\n\nb"),
        ("# h\ntext", "# h\n\ntext", "# h\ntext"),
        ("a\n> b", "a\n\n> b", "a\n> b"),
        ("c\n- a\n- b\nd", "c\n\n- a\n- b\n\nd", "c\n- a\n- b\nd"),
        ("a\n.\nb", "a.\n\nb", "a.\nb"),
        # one block keeps its newline in both
        ("- a\n- b", "- a\n- b", "- a\n- b"),
        ("1. a\n2. b", "1. a\n2. b", "1. a\n2. b"),
        ("> a\n> b", "> a\n> b", "> a\n> b"),
        ("-# a\n-# b", "-# a\n-# b", "-# a\n-# b"),
        ("- a\n  - b\n- c", "- a\n  - b\n- c", "- a\n  - b\n- c"),
        ("- a\n\n- b", "- a\n\n- b", "- a\n\n- b"),
        # other joins keep the source's whitespace
        ("a ```x``` b", "a ```x``` b", "a ```x``` b"),
        ("a```x```b", "a```x```b", "a```x```b"),
        (f"a\n\n{BLOCK}\n\nb", f"a\n\n{BLOCK}\n\nb", f"a\n\n{BLOCK}\n\nb"),
        (f"{BLOCK}\nb", f"{BLOCK}\nb", f"{BLOCK}\nb"),
    ],
)
def test_joins(text: str, blank_line: str, preserve: str) -> None:
    assert messages(text, humanizer_degree=0) == [blank_line]
    assert messages(text, humanizer_degree=0, aggregate_join="preserve") == [preserve]


def finish(engine: TextEngine) -> list[Event]:
    return engine.finish()


def tool_call(engine: TextEngine) -> list[Event]:
    return engine.flush("tool_call")


def stop(engine: TextEngine) -> list[Event]:
    return engine.flush("stop")


@pytest.mark.parametrize(
    ("ending", "why"), [(finish, "final"), (tool_call, "tool_call"), (stop, "stop")]
)
def test_queue_leaves_only_at_the_end(ending: Ending, why: str) -> None:
    assert shown(run("a\nb", ending, humanizer_degree=0)) == [("a\n\nb", why)]
    assert shown(run("a\n...", ending, humanizer_degree=1)) == [("a", "newline"), ("...", why)]


def test_attachment_sends_the_queue() -> None:
    assert shown(run(f"x\ny\n{TABLE}\nz\nw", humanizer_degree=0)) == [
        ("x\n\ny", "attachment"),
        (TABLE, "table"),
        ("z\n\nw", "final"),
    ]


def test_another_identity_goes_out_by_itself() -> None:
    events = run("a\nb\nTomori (mad): c\nd\nTomori: e\nf", humanizer_degree=0, persona=PERSONA)
    found = [(e.text, bool(e.identity)) for e in events if isinstance(e, Message)]
    assert found == [("a\n\nb", False), ("c", True), ("d", True), ("e\n\nf", False)]


def test_long_queue_is_split_for_length() -> None:
    paragraphs = ["one " * 300, "two " * 300, "six " * 300]
    found = messages("\n\n".join(paragraphs), humanizer_degree=0)
    assert [text.split()[0] for text in found] == ["one", "two", "six"]


# -- the ledger ---------------------------------------------------------------------------------


def test_every_code_point_lies_in_one_segment() -> None:
    text = f"a (b\nc) d\n\n...\n{BLOCK}\n.\n{TABLE}\n---\n:nope: x\nend"
    at = number = 0
    for event in run(text, humanizer_degree=1):
        assert isinstance(event, Message | Table | Withheld)
        start, end = event.span
        if event.segment != number:
            assert (event.segment, start) == (number + 1, at)
            number, at = event.segment, end
    assert at == len(text)


def test_identity_of_a_message() -> None:
    [message, *_] = run("Tomori (mad): hi", persona=PERSONA)
    assert isinstance(message, Message)
    assert message.identity == Identity(
        "Tomori", "https://x.test/mad.png", "sprite", "Tomori (mad)", "mad"
    )
    assert message.labelled


def test_a_part_that_is_longer_than_a_message_does_not_wait_for_more() -> None:
    """L6, where messages are filled: nothing can be added to it anyway."""
    settings = TextConfig(humanizer_degree=1, max_single_message_length=100, whole_above_chars=500)
    engine = TextEngine(settings)
    events = engine.feed("xy/" * 400 + "xy")
    assert "".join(one.text for one in events if isinstance(one, Message)) == ("xy/" * 334)[:1000]
