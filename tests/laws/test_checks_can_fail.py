"""The checks are worth something: each planted mutant is caught, by the law it breaks."""

from __future__ import annotations

import random
from typing import Literal

import pytest

from oshaberi import TextEngine
from oshaberi.errors import EngineClosedError
from oshaberi.events import Event, Message, Withheld
from oshaberi.text.config import TextConfig

from . import engine_mutants, law_checks
from .early_endings import broken_around_an_ending
from .engine_feeding import MakeEngine, run
from .engine_mutants import Change, ChunkEngine, HoardingEngine, cut_at, mutant, replaced
from .law_configs import config
from .reference_engine import LineEngine

FAMILY = "👨‍👩‍👧‍👦"
TEXT = f"""\
Hello there, old friend. Read [the manual page](https://example.org/manual) now.
See https://example.org/a/b for more, <@123456789012345678> wrote `some inline code` too.
A family {FAMILY} and a flag 🇯🇵 with cafe\u0301 too.
```py
def f(x):
    if x:

        return 1
```
<think>zqsecret plan</think>
The last line is here.
"""
ENGINES = pytest.mark.parametrize("make", [LineEngine, TextEngine], ids=["reference", "engine"])


def broken(make: MakeEngine, text: str = TEXT, chosen: TextConfig | None = None) -> list[str]:
    return law_checks.all_broken(make, text, chosen or config(2), random.Random(1))


@ENGINES
def test_nothing_is_broken_in_the_fixed_text(make: MakeEngine) -> None:
    assert broken(make) == []
    assert broken(make, TEXT.replace("<think>zqsecret plan</think>\n", "")) == []


MUTANTS: dict[str, tuple[Change, str]] = {
    "spaces removed": (replaced("old friend", "oldfriend"), "L3 words joined"),
    "a space put in": (replaced("manual", "man ual"), "L3 a space in the middle"),
    "a backtick dropped": (replaced("`some", "some"), "L3"),
    "a fence's backtick dropped": (replaced("\n```", "\n``"), "L4 unbalanced"),
    "a fence left open": (replaced("\n```", ""), "L4 unbalanced"),
    "code unindented": (replaced("    if x:", "if x:"), "L4 code line"),
    "a blank line of code lost": (replaced("if x:\n\n", "if x:\n"), "L4 code line"),
    "a blank line of code added": (replaced("return 1\n", "return 1\n\n"), "L4 code"),
    "the language tag lost": (replaced("```py", "```"), "L4 code line"),
    "a word lost": (replaced("old ", ""), "L3 V has"),
    "a word changed": (replaced("old", "new"), "L3 V has"),
    "a ZWJ cut": (cut_at("👨‍👩", "\u200d👧‍👦"), "L5 cut inside a cluster"),
    "a flag cut": (cut_at("🇯", "🇵"), "L5 cut inside a cluster"),
    "a combining mark cut": (cut_at("cafe", "\u0301"), "L5 begins inside"),
    "a link cut": (cut_at("the manual", " page](https"), "L5 cut"),
    "inline code cut": (cut_at("`some", " inline"), "L5 cut"),
    "a URL cut": (cut_at("https://example.org/a", "/b"), "L5 cut"),
    "a mention cut": (cut_at("<@1234567", "89012345678>"), "L5 cut"),
    "a word cut": (cut_at("The la", "st line"), "L3 a word cut"),
    "a line doubled": (engine_mutants.doubled, "L3 V has"),
    "a line lost": (engine_mutants.dropped, "L3 lost at the end"),
    "messages swapped": (engine_mutants.swapped, "L3 V has"),
    "a thought leaked": (engine_mutants.leaked, "L3 a thought leaked"),
    "a stray period": (engine_mutants.appended("."), "L1 stray fragment"),
    "an invisible message": (engine_mutants.appended("\u200b"), "L1 nothing visible"),
    "a message of controls": (engine_mutants.appended("\x07\x9f"), "L1 nothing visible"),
    "a message of fillers": (engine_mutants.appended("\u3164\u2800"), "L1 nothing visible"),
    "outer whitespace": (replaced("Hello", " Hello"), "L1 outer whitespace"),
    "words added": (engine_mutants.appended("and then some"), "L3 added at the end"),
    "a marker closed that was not open": (engine_mutants.appended("*"), "L3"),
    "half a character": (replaced("Hello", "Hello\ud83d"), "L1 cannot be sent"),
    "segments not numbered": (engine_mutants.renumbered, "span: segment 1 has"),
}  # fmt: skip


@ENGINES
@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(make: MakeEngine, name: str) -> None:
    change, by = MUTANTS[name]
    found = broken(mutant(make, change))
    assert any(line.startswith(by) for line in found), found


def test_spans_off_by_one_are_caught() -> None:
    found = broken(mutant(LineEngine, engine_mutants.shifted), "one\ntwo\nthree")
    assert any("behind V" in line for line in found), found


def test_too_long_is_caught() -> None:
    text = "some words here\n" * 12
    found = broken(mutant(LineEngine, engine_mutants.joined), text, config(2, tiny=True))
    assert any(line.startswith("L1 191 units") for line in found), found


def test_dependence_on_chunks_is_caught() -> None:
    found = broken(ChunkEngine, "Hello there. And again.")
    assert any(line.startswith("L2 per character") for line in found), found


def test_hoarding_is_caught() -> None:
    found = broken(HoardingEngine, "Some words and then some more.\n" * 100)
    assert any(line.startswith("L6") for line in found), found
    assert law_checks.bounded_hold(LineEngine, "Some words.\n" * 300, config(2)) == []


def test_a_lost_language_tag_is_caught_where_a_block_goes_on() -> None:
    text = "```py\n" + "    x = 1234567890\n" * 12 + "```\n"
    tiny = config(2, tiny=True)
    assert broken(LineEngine, text, tiny) == []

    def untagged(events: list[Event]) -> list[Event]:
        return [events[0], *replaced("```py", "```")(events[1:])]

    found = broken(mutant(LineEngine, untagged), text, tiny)
    assert any(line.startswith("L4 re-opened") for line in found), found


def test_an_atom_cut_in_a_long_word_is_caught() -> None:
    url = "https://example.org/" + "path/" * 12
    found = broken(
        mutant(LineEngine, cut_at("path/", "path/")), f"See {url} now.", config(2, tiny=True)
    )
    assert any(line.startswith("L5 cut") for line in found), found


def test_degree_three_may_change_case_and_commas_only() -> None:
    heavy = config(3)
    text = "Well, Hello there; it costs 1,000 now."
    said = Message("well hello there it costs 1,000 now", "final", segment=1, span=(0, len(text)))
    assert law_checks.conservation(text, heavy, [said]) == []
    for wrong, by in (
        ("well hello there it costs 1000 now", "L3"),
        ("well hello there it costs 1,000 no", "L3 lost"),
        ("wellhello there it costs 1,000 now", "L3 words joined"),
    ):
        event = Message(wrong, "final", segment=1, span=(0, len(text)))
        found = law_checks.conservation(text, heavy, [event])
        assert any(line.startswith(by) for line in found), (wrong, found)


def test_words_joined_where_a_break_tag_stood_are_caught() -> None:
    text = "今日。<br>明日"
    for said, by in (("今日。\n明日", None), ("今日。明日", "L3 words joined")):
        event = Message(said, "final", segment=1, span=(0, len(text)))
        found = law_checks.conservation(text, config(2), [event])
        assert [line[:15] for line in found] == ([by] if by else []), found


def test_a_fragment_before_a_break_tag_may_join_the_line_above_and_words_may_not() -> None:
    for end, broken in ((",", []), ("b", ["L3 words joined"])):
        text = f"(a\n{end}<br>,\n)"
        event = Message(f"(a{end},\n)", "final", segment=1, span=(0, len(text)))
        found = law_checks.conservation(text, config(2), [event])
        assert [line[:15] for line in found] == broken, found


def test_an_expression_may_join_the_next_line_and_words_may_not() -> None:
    for head, broken in (("...", []), ("ab.", ["L3 words joined"])):
        text = f"```x``` {head}\nnext"
        said = f"```x``` {head}next"
        event = Message(said, "final", segment=1, span=(0, len(text)))
        found = law_checks.conservation(text, config(2), [event])
        assert [line[:15] for line in found] == broken, found


def test_an_expression_behind_a_sentence_may_join_what_follows_a_break_tag() -> None:
    for head, broken in (("One. …", []), ("One …", ["L3 words joined"])):
        text = f"{head}\n<br>next"
        event = Message(f"{head}next", "final", segment=1, span=(0, len(text)))
        found = law_checks.conservation(text, config(3), [event])
        assert [line[:15] for line in found] == broken, found


def test_invisible_characters_lost_from_a_word_are_caught() -> None:
    text = "one tw\u200do three"
    event = Message("one two three", "final", segment=1, span=(0, len(text)))
    found = law_checks.conservation(text, config(2), [event])
    assert any(line.startswith("L3 V has") for line in found), found


def test_invisible_characters_lost_from_an_emoji_in_a_long_line_are_caught() -> None:
    long = "ab " * 60
    for joiners, by in ((1, "L3 V has"), (16, "L3 V has"), (17, None)):
        text = f"{long}👩" + "\u200d" * joiners + f"🚀 {long}"
        said = f"{long}👩🚀 {long}"
        event = Message(said.strip(), "final", segment=1, span=(0, len(text)))
        found = law_checks.conservation(text, config(2, tiny=True), [event])
        assert [line[:8] for line in found] == ([by] if by else []), found


def test_invisible_characters_may_go_only_where_a_long_text_is_cut() -> None:
    text = "some words\u200b\n" * 12
    shown = [text[k : k + 12].replace("\n", "") for k in range(0, len(text), 12)]
    events = [Message(t, "final", segment=1, span=(0, len(text))) for t in shown]
    assert law_checks.conservation(text, config(2, tiny=True), [*events]) == []
    events[3] = Message("some words", "final", segment=1, span=(0, len(text)))
    found = law_checks.conservation(text, config(2, tiny=True), [*events])
    assert any(line.startswith("L3 V has") for line in found), found
    assert law_checks.conservation(text, config(0, tiny=True), [*events]) == []
    whole = Message("\n".join(e.text for e in events), "final", segment=1, span=(0, len(text)))
    assert law_checks.conservation(text, config(0), [whole])


def test_a_mark_cut_off_is_caught_though_another_stands_behind_a_control_character() -> None:
    text = "a\u200b\u0308 cafe\u0301"
    for cut, broken in ((2, False), (8, True)):
        parts = [Message(t.strip(), "final", span=(0, 9)) for t in (text[:cut], text[cut:])]
        assert bool(law_checks.clusters(text, config(2), [*parts])) == broken


def test_strays_that_were_withheld_from_several_lines_must_all_be_there() -> None:
    for marks, by in (("!!", None), ("!", "L3 V has"), ("!!!", "L3 withheld but not in V")):
        text = "!<br>===<br><br>!\nword"
        events: list[Event] = [
            Message("word", "final", segment=1, span=(0, len(text))),
            Withheld("===", "rule", 1, (0, len(text))),
            Withheld(marks, "stray", 1, (0, len(text))),
        ]
        found = law_checks.conservation(text, config(2), events)
        assert [line[: len(by or "")] for line in found] == ([by] if by else []), found


def test_a_rule_that_was_withheld_must_stand_in_one_line() -> None:
    for text, said, broken in (
        ("___<br>_<br>_", "_\n_", False),
        ("_<br>_<br>___", "_\n_", False),
        ("_<br>_<br>_<br>_", "_", True),
    ):
        events: list[Event] = [
            Message(said, "final", segment=1, span=(0, len(text))),
            Withheld("___", "rule", 1, (0, len(text))),
        ]
        found = law_checks.conservation(text, config(2), events)
        assert bool(found) == broken, found


def test_a_rule_is_looked_for_in_a_line_of_its_own_first() -> None:
    text = "- ---\n- ---\n---\n---"
    for items, broken in (("- ---", False), ("- --", True)):
        events: list[Event] = [
            Message(items, "newline", segment=1, span=(0, 6)),
            Message("- ---", "newline", segment=2, span=(6, 12)),
            Withheld("---", "rule", 3, (12, 19)),
            Withheld("---", "rule", 3, (12, 19)),
        ]
        assert bool(law_checks.conservation(text, config(3), events)) == broken


def test_a_stray_line_is_looked_for_as_a_whole_first() -> None:
    text = "-\n;\n;;\n;)"
    for face, broken in ((";)", False), (")", True)):
        events: list[Event] = [
            Message("-;", "newline", segment=1, span=(0, 3)),
            Message(face, "final", segment=2, span=(3, 9)),
            Withheld(";;", "stray", 2, (3, 9)),
        ]
        assert bool(law_checks.conservation(text, config(2), events)) == broken


def test_a_comma_that_was_withheld_is_looked_for_in_its_own_segment() -> None:
    text = "r\n,\n<br>,,,\n<br>,"
    for commas, broken in ((",,,", False), (",,", True), (",,,,", True)):
        events: list[Event] = [
            Message("r,", "newline", segment=1, span=(0, 3)),
            Message(commas, "newline", segment=2, span=(3, 12)),
            Withheld(",", "stray", 3, (12, 17)),
        ]
        assert bool(law_checks.conservation(text, config(1), events)) == broken


def test_a_spoiler_may_be_closed_behind_code_that_goes_over_line_breaks() -> None:
    text = "``||`\n`)`\n`"
    for end, broken in (("||", False), ("||||", True), (")", True), ("*", True)):
        said = Message(text + end, "final", segment=1, span=(0, len(text)))
        assert bool(law_checks.conservation(text, config(1), [said])) == broken, end


def test_marks_cut_from_a_link_with_which_they_fit_are_caught() -> None:
    for link, marks, broken in (
        ("[label](https://x.test/a)", 40, True),
        ("[label](https://x.test/a)", 98, False),
        ("[label](see main.py)", 40, True),
        ("[label](see main.py)", 98, False),
        ("label (see main.py)", 90, True),
    ):
        text = link + "\u0301" * marks
        events: list[Event] = [
            Message(link, "final", segment=1, span=(0, len(text))),
            Message("\u0301" * marks, "final", segment=1, span=(0, len(text))),
        ]
        tiny = config(2, tiny=True)
        found = law_checks.conservation(text, tiny, events)
        assert bool(found) == broken, found
        assert bool(law_checks.clusters(text, tiny, events)) == broken


def test_marks_cut_from_code_are_caught_unless_it_may_be_code_and_too_long_for_them() -> None:
    for inside, marks, broken in ((48, 40, True), (48, 52, False), (60, 52, True)):
        code = "`" + "a" * inside + "`"
        text = code + "\u0301" * marks
        events: list[Event] = [
            Message(code, "final", segment=1, span=(0, len(text))),
            Message("\u0301" * marks, "final", segment=1, span=(0, len(text))),
        ]
        found = law_checks.conservation(text, config(2, tiny=True), events)
        assert bool(found) == broken, (inside, marks, found)


def test_a_word_behind_a_tag_may_be_cut_only_in_a_line_of_code_that_no_message_holds() -> None:
    tiny = config(2, tiny=True)
    for signs, said, is_broken in (
        ("の" * 80, "secre|t", False),
        ("の" * 80, "secre|", True),
        ("の" * 8, "secre|t", True),
        ("の" * 79 + " ", "secre|t", True),
    ):
        text = f"</details>```{signs}<think>secret n"
        head, tail = said.split("|")
        events: list[Event] = [
            Message(f"```\n{signs}<think>{head}\n```", "final", span=(0, len(text))),
            Message(f"```\n{tail} n```", "final", span=(0, len(text))),
        ]
        found = law_checks.conservation(text, tiny, events)
        assert bool(found) == is_broken, (said, found)


class ForgetfulEngine(TextEngine):
    """Loses what waits when it is stopped or dropped."""

    def flush(
        self,
        reason: Literal["tool_call", "stop"],
        *,
        trim_incomplete_clause: bool = False,
        only_whole: bool = False,
    ) -> list[Event]:
        super().flush(reason, trim_incomplete_clause=trim_incomplete_clause, only_whole=only_whole)
        return []

    def discard(self) -> list[Event]:
        super().discard()
        return []


def test_what_is_lost_at_an_early_ending_is_caught() -> None:
    text = "Some words here and then some more words there"
    for seed in range(20):
        kept = broken_around_an_ending(text, config(2), random.Random(seed))
        lost = broken_around_an_ending(text, config(2), random.Random(seed), ForgetfulEngine)
        assert kept == []
        assert any(line.startswith(("L3", "span")) for line in lost), (seed, lost)


def test_a_bracket_closed_behind_a_whole_link_is_caught() -> None:
    text = "Read [the page](https://example.org/)s now"
    said = Message(text + ")", "final", segment=1, span=(0, len(text)))
    found = law_checks.conservation(text, config(2), [said])
    assert any(line.startswith("L3 added") for line in found), found


def test_an_engine_that_goes_on_after_its_end_is_caught() -> None:
    assert law_checks.closed_after(ChunkEngine(config(2)), EngineClosedError) == [
        "closed: fed after the end without an error"
    ]
    hoard = HoardingEngine(config(2))
    run(lambda _: hoard, config(2), ["text"])
    assert "second finish" in law_checks.closed_after(hoard, EngineClosedError)[0]
    ended = LineEngine(config(2))
    ended.finish()
    assert law_checks.closed_after(ended, EngineClosedError) == []
