"""Spec 05 B1-B8, C7, forced flushes: where a segment ends, and why."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.text.config import Persona, TextConfig
from oshaberi.text.engine import Carry, TextEngine
from oshaberi.text.segments.buffer import Segment
from oshaberi.text.segments.splitter import SegmentSplitter

from .engine_runs import Ending, messages, outcome, run, shown, split
from .plain_values import fields

ROWS = "| a | b |\n|---|---|\n| 1 | 2 |"
BLOCK = "```\nx\n```"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("before ```py\nx\n``` after", ["before", "```py\nx\n```", "after"]),
        ("before\n```py\nx\n```\nafter", ["before", "```py\nx\n```", "after"]),
        ("```x```", ["```x```"]),
        ("a ```x``` b", ["a", "```x```", "b"]),
        ("```py```", ["```py```"]),
        ("``` a ``` b ``` c ```", ["``` a ```", "b", "``` c ```"]),
        # open holds are released
        (f"(a\nb\n{BLOCK}\nc)", ["(a", "b", BLOCK, "c)"]),
        ("**a\nb ```x``` c** d\ne", ["**a", "b", "```x```", "c** d", "e"]),
        # quoted and indented fences
        ("> ```py\n> x = 1\n>\n>   y\n> ```\n> more", ["```py\nx = 1\n\n  y\n```", "> more"]),
        ("a\n>```\n>x\n>```\nb", ["a", BLOCK, "b"]),
        ("> > ```\n> > x\n> > ```", [BLOCK]),
        ("> text ```x``` y", ["> text", "```x```", "y"]),
        ("- item\n  ```py\n  x\n    y\n  ```\n- next", ["- item", "```py\nx\n  y\n```", "- next"]),
        ("\t```\n\tx\n\t```", [BLOCK]),
        # a run of at least as many backticks closes
        ("```\nx\n````y", [BLOCK, "y"]),
        ("```\na `b` ``c``\n```", ["```\na `b` ``c``\n```"]),
        ("````\n```py\nx\n```\n````", ["```\n`\u200b`\u200b`py\nx\n`\u200b`\u200b`\n```"]),
        ("````md\na ``` b\n````x", ["```md\na `\u200b`\u200b` b\n```", "x"]),
        ("```\n  \n\n  x  \n\n```", ["```\n  \n\n  x  \n\n```"]),
        # a fence inside what looks like inline code
        ("a `b ```x``` c` d", ["a `b", "```x```", "c` d"]),
    ],
)
def test_code(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb", ["a", "b"]),
        ("a\n", ["a"]),
        ("a\n\n \t\nb", ["a", "b"]),
        ("a\n.", ["a."]),
        ("a\n . b", ["a.", "b"]),
        ("a\n\n\n?!\n\nb", ["a?!", "b"]),
        ("a\n,.!?;。！？、，\nb", ["a,.!?;。！？、，", "b"]),
        ("a \n  .  \n b", ["a.", "b"]),
        ("a\n" + "!" * 16 + "\nb", ["a" + "!" * 16, "b"]),
        ("a\n" + "!" * 17 + "\nb", ["a", "!" * 17 + "b"]),
        ("a\n.env", ["a", ".env"]),
        ("a\n!important", ["a", "!important"]),
        ("a\n，b", ["a", "，b"]),
        ("a\n..\nb", ["a..", "b"]),
        ("a\n...\nb", ["a", "...b"]),
        ("a\n...!\nb", ["a", "...!b"]),
        ("a\n。。。\nb", ["a", "。。。b"]),
        ("a\n。。b", ["a", "。。b"]),
        ("what\n?!?!\nreally", ["what?!?!", "really"]),
        ("a\n: b", ["a", ": b"]),
        ("- a\n.\n- b", ["- a.", "- b"]),
        ("(a\n.\nb) c\nd", ["(a\n.\nb) c", "d"]),
        ("a\n<b>x", ["a", "<b>x"]),
    ],
)
def test_newline(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-#\nfoo", ["-# foo"]),
        ("-# \nfoo", ["-# foo"]),
        ("a\n-#\nfoo\nb", ["a", "-# foo", "b"]),
        ("-# a\n-#\nb", ["-# a", "-# b"]),
        ("-#x\nfoo", ["-#x", "foo"]),
        ("a -#\nfoo", ["a -#", "foo"]),
    ],
)
def test_bare_subtext_joins_the_next_line(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


def test_newline_at_the_end_waits_for_what_follows() -> None:
    engine = TextEngine()
    assert engine.feed("a\n \n") == []
    assert [text for text, _ in shown(engine.feed("b"))] == ["a"]


def test_newline_before_a_possible_tag_waits_for_it() -> None:
    engine = TextEngine()
    assert engine.feed("a\n<thi") == []
    assert [text for text, _ in shown(engine.feed(" "))] == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am here. How are you? Fine!", ["I am here.", "How are you?", "Fine!"]),
        ("今日は。元気？はい！", ["今日は。", "元気？", "はい！"]),
        ('One. "Two." Three', ["One.", '"Two."', "Three"]),
        ("(One. Two. Three.) Four.", ["(One. Two. Three.)", "Four."]),
        ("“One. Two.” Three. Four", ["“One. Two.”", "Three.", "Four"]),
        ("say `a. b. c`. then.", ["say `a. b. c`.", "then."]),
        ("see https://a.b/c. next.", ["see https://a.b/c.", "next."]),
        ("[Go so. Be it](http://x.y) now. Yes", ["[Go so. Be it](http://x.y) now.", "Yes"]),
        ("(One [two) go. Did it", ["(One [two) go.", "Did it"]),
        ("yes.\nno. so.", ["yes.", "no.", "so."]),
        ("- one. two. three", ["- one. two. three"]),
        ("> one. two", ["> one. two"]),
        ("# one. two", ["# one. two"]),
        ("-# one. two", ["-# one. two"]),
        ("| one. two", ["| one. two"]),
        ("- one. two\n  three. four\nfive. six", ["- one. two\n  three. four", "five.", "six"]),
    ],
)
def test_period(text: str, expected: list[str]) -> None:
    """B4, seen through the boundaries, before humanising."""
    assert [part for part, _ in sentences(text)] == expected


def sentences(text: str) -> list[tuple[str, str]]:
    config = TextConfig(humanizer_degree=3)
    segments = split([text], config)
    assert fields(segments) == fields(split(text, config))
    return [(segment.text, segment.boundary) for segment in segments]


def test_boundaries_say_why() -> None:
    text = f"a\nb ```x``` {'c' * 1300}\nd"
    assert [why for _, why in shown(run(text, humanizer_degree=1))] == [
        "newline",
        "code_open",
        "code_close",
        "overflow",
        "newline",
        "final",
    ]
    assert [why for _, why in sentences("One. Two.\nSix")] == ["period", "newline", "final"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ROWS, [(ROWS, "table")]),
        (f"{ROWS}\n", [(ROWS, "table")]),
        (f"x\n{ROWS}\ny", [("x", "newline"), (ROWS, "table"), ("y", "final")]),
        (f"x\n\n{ROWS}\n\ny", [("x", "newline"), (ROWS, "table"), ("y", "final")]),
        (f"{ROWS}\n\n{ROWS}", [(ROWS, "table"), (ROWS, "table")]),
        ("a | b\n--|--\n1 | 2\nx", [("a | b\n--|--\n1 | 2", "table"), ("x", "final")]),
        ("a|b\n-|-\n1|2\n|3|4\nx", [("a|b\n-|-\n1|2\n|3|4", "table"), ("x", "final")]),
        ("| a | b |\n|---|---|", [("| a | b |\n|---|---|", "table")]),
        # if the header begins with a bar, so must every row
        ("|a|b|\n|-|-|\n1 | 2", [("|a|b|\n|-|-|", "table"), ("1 | 2", "final")]),
        # a fence ends it; holds are released
        (f"{ROWS}\n{BLOCK}", [(ROWS, "table"), (BLOCK, "code_close")]),
        (
            f"(a\nb\n{ROWS}\nc)",
            [("(a", "newline"), ("b", "newline"), (ROWS, "table"), ("c)", "final")],
        ),
        # not tables
        ("| a | b |\n|---|", [("| a | b |", "newline"), ("|---|", "final")]),
        ("| a |\n|---|", [("| a |", "newline"), ("|---|", "final")]),
        ("| a | b |\n\n|---|---|", [("| a | b |", "newline"), ("|---|---|", "final")]),
        ("||a||\n|---|---|", [("||a||", "newline"), ("|---|---|", "final")]),
        ("| a | b |\n--x", [("| a | b |", "newline"), ("--x", "final")]),
        ("a | b\n- c\n- d", [("a | b", "newline"), ("- c", "newline"), ("- d", "final")]),
    ],
)
def test_tables(text: str, expected: list[tuple[str, str]]) -> None:
    assert shown(run(text, humanizer_degree=1, paragraph_mode="lines")) == expected


def test_possible_header_is_given_up_at_once() -> None:
    boundaries = SegmentSplitter(TextConfig())
    assert boundaries.feed("| a | b |\n| - ") == []
    assert [found.text for found in boundaries.feed("x") if isinstance(found, Segment)] == [
        "| a | b |"
    ]


def test_table_that_is_too_long_is_text() -> None:
    head = "| a | b |\n|---|---|\n"
    rows = [f"| {i:04} | row |" for i in range(80)]
    short: dict[str, Any] = {
        "flush_buffer_size_code_block": 1000,
        "humanizer_degree": 1,
        "max_flush_count": 1000,
    }
    fits = head + "\n".join(rows[:60])
    assert outcome(run(fits, **short)).tables == [fits]
    found = outcome(run(head + "\n".join(rows) + "\nend", **short))
    assert found.tables == []
    assert found.messages == [*head.split("\n")[:2], *rows, "end"]


def test_overflow_never_cuts_a_table() -> None:
    source = "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 200
    found = outcome(run(source + "end", humanizer_degree=2))
    assert found.tables == [source.strip()]
    assert found.messages == ["end"]


def test_a_table_behind_one_that_was_too_long() -> None:
    long = "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 100
    found = outcome(run(f"{long}\nso\n{ROWS}", flush_buffer_size_code_block=1000))
    assert found.tables == [ROWS]


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "\u200b", "\u200b\n\u200b", " \t\n", "\u200d \n"]
)
def test_nothing_visible_makes_no_event(text: str) -> None:
    assert run(text) == []
    assert run(text, humanizer_degree=0) == []


# -- forced flushes -----------------------------------------------------------------------------


def tool_call(engine: TextEngine) -> Any:
    return engine.flush("tool_call")


def trimmed(engine: TextEngine) -> Any:
    return engine.flush("tool_call", trim_incomplete_clause=True)


def stop(engine: TextEngine) -> Any:
    return engine.flush("stop")


def finish(engine: TextEngine) -> Any:
    return engine.finish()


def discard(engine: TextEngine) -> Any:
    return engine.discard()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a", "(a)"),
        ("（a", "（a）"),
        ('say "hi', 'say "hi"'),
        ("「a『b", "「a『b』」"),
        ("“a", "“a”"),
        ("«a", "«a»"),
        ("《a", "《a》"),
        ("**a", "**a**"),
        ("*a", "*a*"),
        ("***a", "***a***"),
        ("~~a", "~~a~~"),
        ("||a", "||a||"),
        ("**a *b", "**a *b***"),
        ("(a **b", "(a **b**)"),
        ('*a "b', '*a "b"*'),
        ("(a  ", "(a)"),
        ("[text](http://x.y/z", "[text](http://x.y/z)"),
        ("[text", "[text"),
        ("([t](http://x", "([t](http://x))"),
        ("```\ncode", "```\ncode\n```"),
        ("```py\nx", "```py\nx\n```"),
        ("```py\nx\n  ", "```py\nx\n```"),
        ("```x", "```x```"),
        # nothing after it
        ("a **", "a **"),
        ("a (", "a ("),
        ("[text](", "[text]("),
        # would lengthen a run
        ("**a*", "**a*"),
        ("~~a~", "~~a~"),
        ("||a|", "||a|"),
        # not markup
        ("5 ** 2", "5 ** 2"),
        ("`code", "`code"),
        ("sure :(", "sure :("),
        ("thanks (:", "thanks (:"),
        ("a (:b", "a (:b)"),
        ("snake_case", "snake_case"),
    ],
)
@pytest.mark.parametrize(
    ("ending", "why"), [(tool_call, "tool_call"), (stop, "stop"), (finish, "final")]
)
def test_open_markers_are_closed(text: str, expected: str, ending: Ending, why: str) -> None:
    assert shown(run(text, ending, humanizer_degree=1)) == [(expected, why)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a\nb", [("(a", "newline"), ("b", "final")]),
        ("(a\nb (c", [("(a", "newline"), ("b (c)", "final")]),
        ("**a\nb", [("**a", "newline"), ("b", "final")]),
        (">>> a\nb (c", [(">>> a\nb (c)", "final")]),
    ],
)
def test_openers_on_earlier_lines_were_literal(text: str, expected: list[tuple[str, str]]) -> None:
    assert shown(run(text, humanizer_degree=1)) == expected


@pytest.mark.parametrize("cell", ["(1", "**1", '"1'])
def test_nothing_is_appended_in_a_table(cell: str) -> None:
    source = f"| a | b |\n|---|---|\n| {cell}"
    assert outcome(run(source)).tables == [source]


@pytest.mark.parametrize(
    ("text", "kept", "removed"),
    [
        ("Done. Let me check", "Done.", "Let me check"),
        ("Really? Hm", "Really?", "Hm"),
        ("Wait! I", "Wait!", "I"),
        ("Hi… and", "Hi…", "and"),
        ("そう。それで", "そう。", "それで"),
        ('He said "yes." and', 'He said "yes."', "and"),
        ("Fine (really.) and", "Fine (really.)", "and"),
        ("Done.", "Done.", None),
        ("no end here", "no end here", None),
        ("It is 3.14 or so", "It is 3.14 or so", None),
        ("Hello. (One. Two", "Hello. (One.)", "Two"),
        # neither an abbreviation nor the number of a list item ends a clause
        ("Hello. I met Dr. Smi", "Hello.", "I met Dr. Smi"),
        ("I met Dr. Smi", "I met Dr. Smi", None),
        ("Tea, e.g. gre", "Tea, e.g. gre", None),
        ("1. one\n   (a)\n2. tw", "1. one\n   (a)", "2. tw"),
        ("> 1. Tea\n> 2. gre", "> 1. Tea", "> 2. gre"),
        ("2. gre", "2. gre", None),
        ("- one\n- tw", "- one", "- tw"),
        ("Hello. I met Dr. ", "Hello.", "I met Dr."),
        ("Hello. I met **Dr.** Smi", "Hello.", "I met **Dr.** Smi"),
        ("Hello. Tea, e.g.", "Hello.", "Tea, e.g."),
        ("Hello. We use Yahoo! Mai", "Hello.", "We use Yahoo! Mai"),
        ("Hello. It costs 3.", "Hello.", "It costs 3."),
        ("Hello.\n2.", "Hello.", "2."),
        # other scripts
        ("मैं ठीक हूँ। और आ", "मैं ठीक हूँ।", "और आ"),
        ("كيف حالك؟ أنا بخ", "كيف حالك؟", "أنا بخ"),
    ],
)
def test_incomplete_clause(text: str, kept: str, removed: str | None) -> None:
    found = outcome(run(text, trimmed, humanizer_degree=1))
    assert found.messages == [kept]
    assert found.withheld == ([(removed, "incomplete_clause")] if removed else [])


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize(
    ("text", "removed"),
    [
        ("Hello!\nand th", "and th"),
        ("Hello!\nI met Dr. Smi", "I met Dr. Smi"),
        ("Hello!\n\n1. one\n2.", "2."),
        ("Hello!\n```\nx\n```\nThis is wh", "This is wh"),
        ("Hello! See [the guide](https://exa", "See [the guide](https://exa"),
        ("Hello!\n*waves and smi", "*waves and smi"),
    ],
)
def test_half_a_clause_behind_what_was_shown(text: str, removed: str, degree: int) -> None:
    found = outcome(run(text, trimmed, humanizer_degree=degree))
    assert found.withheld == [(removed, "incomplete_clause")]
    assert found.messages[0].lower().startswith("hello!")


@pytest.mark.parametrize("before", ["---\n", "Mochi:\n", "<think>Hm.</think>\n"])
def test_half_a_clause_that_is_all_there_is_to_show(before: str) -> None:
    persona = Persona("Mochi")
    assert messages(f"{before}and th", trimmed, persona=persona) == ["and th"]


def test_half_a_clause_behind_an_overflow() -> None:
    text = "word " * 300
    assert messages(text, trimmed) == messages(text)


def test_half_a_clause_behind_the_messages_of_an_earlier_stream() -> None:
    engine = TextEngine(TextConfig(humanizer_degree=1), carried=Carry(messages=1))
    assert outcome([*engine.feed("and th"), *trimmed(engine)]).messages == []


def test_only_a_trimming_flush_trims() -> None:
    for ending in (tool_call, stop, finish):
        assert messages("Done. Let me", ending) == ["Done. Let me"]


def test_unfinished_code_is_not_trimmed() -> None:
    assert messages("```\nx. y", trimmed) == ["```\nx. y\n```"]


@pytest.mark.parametrize(
    ("text", "expected", "dropped"),
    [
        ("a\nb", ["a"], "b"),
        ("One. Two (three", [], "One. Two (three"),
        ("a\n```\ncode", ["a"], "```\ncode"),
        ("a\n...", ["a"], "..."),
        ("a\n| x | y |\n|---|---|\n| 1", ["a"], "| x | y |\n|---|---|\n| 1"),
        ("a <thin", [], "a <thin"),
    ],
)
def test_discard_drops_the_buffer(text: str, expected: list[str], dropped: str) -> None:
    found = outcome(run(text, discard, humanizer_degree=1))
    assert (found.messages, found.withheld) == (expected, [(dropped, "follow_up")])


@pytest.mark.parametrize("ending", [finish, tool_call, stop, discard])
def test_unterminated_blocks_are_captured_at_every_end(ending: Ending) -> None:
    assert outcome(run("a <think>open", ending)).thoughts == ["open"]
    assert outcome(run("a <details>open", ending)).details == ["open"]
