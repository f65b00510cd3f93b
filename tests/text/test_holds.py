"""Spec 05, semantic hold: what opens, what does not, and what releases (H1-H3)."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.text.atoms import code_limit
from oshaberi.text.config import TextConfig
from oshaberi.text.markers.closed_pairs import begun_url, find_spans
from oshaberi.text.markers.open_markers import (
    CLOSERS,
    KINDS,
    HeldBoundary,
    OpenMarkers,
)
from oshaberi.text.markers.rules import MARK_HANDLERS, MARKS
from oshaberi.text.segments.cuts import closing

from .engine_runs import messages, run, shown, split
from .plain_values import fields

PAIRS = [
    ("(", ")"),
    ("（", "）"),
    ('"', '"'),
    ("「", "」"),
    ("『", "』"),
    ("“", "”"),
    ("„", "“"),
    ("„", "”"),
    ("«", "»"),
    ("»", "«"),
    ("《", "》"),
    ("**", "**"),
    ("*", "*"),
    ("***", "***"),
    ("~~", "~~"),
    ("||", "||"),
    ("\\[", "\\]"),
    ("\\begin{x}", "\\end{x}"),
    ("[text](", ")"),
    ("[", "](http://x)"),
]


def segments(text: str, **settings: Any) -> list[str]:
    """What leaves step 05, before lines are looked at once more."""
    return [segment.text for segment in split(text, TextConfig(humanizer_degree=1, **settings))]


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_lines_of_a_pair_stay_together(opener: str, closer: str) -> None:
    text = f"say {opener}one\ntwo{closer} x"
    assert messages(f"{text}\nnext") == [text, "next"]


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_blank_line_releases(opener: str, closer: str) -> None:
    """H2."""
    first, second, third = f"say {opener}one", "more", f"two{closer} x"
    text = f"{first}\n{second}\n\n{third}\nnext"
    assert messages(text) == segments(text) == [first, second, third, "next"]


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_fence_and_table_release(opener: str, closer: str) -> None:
    """H2."""
    first, third = f"say {opener}one", f"two{closer} x"
    for block in ("```\nx\n```", "| a | b |\n|---|---|"):
        expected = [first, "more", block, third, "next"]
        found = shown(run("\n".join(expected), humanizer_degree=1))
        assert [text for text, _ in found] == segments("\n".join(expected)) == expected


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_hold_limit_releases(opener: str, closer: str) -> None:
    """H3."""
    first, last = f"say {opener}one", f"two{closer} x"
    fits = f"{first}\n{'y' * 20}\n{last}"
    assert messages(f"{fits}\nnext", hold_limit=50) == [fits, "next"]
    expected = [first, "y" * 60, last, "next"]
    text = "\n".join(expected)
    assert messages(text, hold_limit=50) == segments(text, hold_limit=50) == expected


@pytest.mark.parametrize(("letters", "count"), [(498, 2), (499, 3)])
def test_hold_limit_is_exact(letters: int, count: int) -> None:
    assert len(messages(f"(\n{'y' * letters})\nc")) == count


def test_next_opener_keeps_holding_when_the_oldest_expires() -> None:
    text = f"(a\nb\n(c\n{'x' * 494}\nd)\ne"
    assert messages(text) == ["(a", "b", f"(c\n{'x' * 494}\nd)", "e"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">>> a\nb\n\nc\nd", [">>> a\nb", "c", "d"]),
        ("x\n>>> a\nb", ["x", ">>> a\nb"]),
        (">>>a\nb", [">>>a", "b"]),
        ("x >>> a\nb", ["x >>> a", "b"]),
        (">>> a (b\n\nc)", [">>> a (b", "c)"]),
        (">>> a\n>>> b\n\nc\nd\ne", [">>> a\n>>> b", "c", "d", "e"]),
        ("> a\n> b", ["> a", "> b"]),
    ],
)
def test_block_quote(text: str, expected: list[str]) -> None:
    made = messages(text, paragraph_mode="lines")
    assert made == segments(text, paragraph_mode="lines") == expected


@pytest.mark.parametrize(
    "text",
    [
        # a `)` without a `(`, and sad faces
        "Sure :)\nok",
        "B)\n(ok) 8)",
        "1) one\n2) two",
        "sad :(\nok)",
        "mad >:(\nok)",
        "=(\nok)",
        "so :-(\nok)",
        "tears :'(\nok)",
        # a smile from right to left
        "thanks (:\nok)",
        "thanks (; see you\nok)",
        # `"` after a digit, inside a word, between blanks
        '5" screen\nok" done',
        "6'2\" tall\nok",
        'say x"y\nz" w',
        'a " b\nc " d',
        # `*`
        "* item\n* two",
        "- a\n* b",
        "2 * 3\n4 * 5",
        "5 ** 2\nok ** x",
        "f***ing\nok",
        "a*b\nc*d",
        "Best*\nof* all",
        "a kiss :*\nyou* too",
        ":* bye\nx",
        "face *_*\nok *_* x",
        # `~~`, `~`, `||`
        "おはよ~~！\n次~~",
        "カタカナ~~\n次",
        "a ~b\nc~ d",
        "long~~ vowel\nok~~",
        "x || y\nz || w",
        # `_` never holds
        "_a\nb_ c",
        "(_)\nsnake_case_",
        # other brackets never hold
        "‘a\nb’ c",
        "{a\nb}",
        "<a\nb>",
        "[a\nb] c",
        # inside atoms
        "see https://x.y/(a\nb)",
        "https://x.y/**z\nb**",
        "`(`\nb)",
        '`"a`\nb"',
        "`` ` ( ``\nb)",
        "<t:123:R> (a)\nb)",
        "<:o_(:111111111111111111>\nb",
        # escaped
        "a\\(b\nc)",
        "a \\*b\nc*",
        "\\\\[a\nb",
    ],
)
def test_delays_nothing(text: str) -> None:
    assert messages(text, paragraph_mode="lines") == text.split("\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a call is a call, not a face
        ("f(x\ny) z\nw", ["f(x\ny) z", "w"]),
        ("like:(a\nb)\nc", ["like:(a\nb)", "c"]),
        ("x = (\na\n)\nb", ["x = (\na\n)", "b"]),
        # if a quote is open, any `"` closes it
        ('a "b\nc"d\ne', ['a "b\nc"d', "e"]),
        ('("a\nb") c\nd', ['("a\nb") c', "d"]),
        ('"a" "b\nc" d\ne', ['"a" "b\nc" d', "e"]),
        # Han, kana, Hangul: glued markers open
        ("これは**太字\nです**よ\n次", ["これは**太字\nです**よ", "次"]),
        ("日本*語\n続*き\n次", ["日本*語\n続*き", "次"]),
        ("한국**어\n굵게**는\n다음", ["한국**어\n굵게**는", "다음"]),
        ("漢字~~消\n線~~よ\n次", ["漢字~~消\n線~~よ", "次"]),
        # a `*` that is open is closed by `:*`
        ("*hugs :*\nyou", ["*hugs :*", "you"]),
        # a closer discards the openers inside its pair
        ("**a (b** c\nd) e", ["**a (b** c", "d) e"]),
        ("(a **b) c\nd** e", ["(a **b) c", "d** e"]),
        ('("a)\nb" c', ['("a)', 'b" c']),
        ("*「a*\nb」", ["*「a*", "b」"]),
        # nesting
        ("(a\n(b\nc)\nd)\ne", ["(a\n(b\nc)\nd)", "e"]),
        ("“a „b“\nc”\nd", ["“a „b“\nc”", "d"]),
        ("**a *b*** c\nd", ["**a *b*** c", "d"]),
        ("**a *b\nc*** d\ne", ["**a *b\nc*** d", "e"]),
        # a face does not close what is open; bars do, wherever they stand, as in Discord
        ("*hugs *_* you\nthere* x\ny", ["*hugs *_* you\nthere* x", "y"]),
        ("||a || b\nc|| d\ne", ["||a || b", "c|| d", "e"]),
        # links
        ("[a (b](http://x) c\nd)", ["[a (b](http://x) c", "d)"]),
        ("x (see [a](http://b.c/d_(e)) now\nok)\nz", None),
        ("(a [b\nc](http://x) d)\ne", ["(a [b\nc](http://x) d)", "e"]),
        ("[a\nb\nc](http://x) d\ne", ["[a\nb\nc](http://x) d", "e"]),
        ("[a\nb] c\nd", ["[a", "b] c", "d"]),
        ("[a\n[b\nc](http://x) d\ne", ["[a", "[b\nc](http://x) d", "e"]),
        ("[a (b\nc](http://x) d\ne)", ["[a (b\nc](http://x) d", "e)"]),
        ("**a [b\nc** d](http://x)\ne", ["**a [b\nc** d](http://x)", "e"]),
        # the boundary after the close is used
        ("(a\nb)\nc", ["(a\nb)", "c"]),
        ("**a\nb**\nc", ["**a\nb**", "c"]),
        # the tail of a URL is given back
        ("(https://x.y/a)\nb", ["(https://x.y/a)", "b"]),
        ("**https://x.y/a**\nb", ["**https://x.y/a**", "b"]),
        ("https://x.y/a_(b)\nc", ["https://x.y/a_(b)", "c"]),
        ("https://x.y/「a\nb」\nc", ["https://x.y/「a\nb」", "c"]),
        ('https://x.y/a "b\nc" d\ne', ['https://x.y/a "b\nc" d', "e"]),
        ("mailto://x/(a\nb) c\nd", ["mailto://x/(a\nb) c", "d"]),
    ],
)
def test_what_opens_and_closes(text: str, expected: list[str] | None) -> None:
    if expected is None:
        expected = ["\n".join(text.split("\n")[:2]), text.split("\n")[2]]
    assert messages(text) == expected


# -- bookkeeping --------------------------------------------------------------------------------


def held(*places: int) -> list[HeldBoundary]:
    return [HeldBoundary(at, at, "newline") for at in places]


def test_closing_frees_what_lies_before_the_pair_only() -> None:
    open_markers = OpenMarkers(500)
    open_markers.push("(", 2)
    open_markers.wait(HeldBoundary(5, 5, "newline"))
    open_markers.close("(", 8)
    assert (open_markers.held, open_markers.free, open_markers.stack) == ([], [], [])
    assert open_markers.spans == [(2, 8, False)]


def test_expiry_frees_boundaries_before_the_next_opener() -> None:
    open_markers = OpenMarkers(10)
    open_markers.push("(", 0)
    for boundary in held(2, 4):
        open_markers.wait(boundary)
    open_markers.push("(", 5)
    open_markers.wait(HeldBoundary(7, 7, "newline"))
    assert open_markers.expiry() == 11
    open_markers.expire()
    assert fields(open_markers.free) == fields(held(2, 4))
    assert fields(open_markers.held) == fields(held(7))
    assert open_markers.open["("] == 1


def test_shift_moves_every_place() -> None:
    open_markers = OpenMarkers(10)
    open_markers.push("(", 20)
    open_markers.wait(HeldBoundary(25, 27, "newline", 26))
    open_markers.spans.append((18, 19, True))
    open_markers.shift(10)
    assert open_markers.stack == [("(", 10)]
    assert fields(open_markers.held) == fields([HeldBoundary(15, 17, "newline", 16)])
    assert open_markers.spans == [(8, 9, True)]
    moved = HeldBoundary(25, 27, "newline").moved(10)
    assert fields([moved]) == fields([HeldBoundary(15, 17, "newline")])


def test_forced_flush_keeps_the_openers_of_the_last_line() -> None:
    open_markers = OpenMarkers(500)
    open_markers.push("(", 0)
    open_markers.wait(HeldBoundary(3, 3, "newline"))
    open_markers.push("**", 6)
    assert open_markers.force(4, 10) == [("**", 6)]
    assert fields(open_markers.free) == fields(held(3))


def test_cut_forgets_what_has_left() -> None:
    open_markers = OpenMarkers(500)
    open_markers.push("(", 0)
    open_markers.wait(HeldBoundary(3, 3, "newline"))
    open_markers.push("(", 9)
    open_markers.wait(HeldBoundary(12, 12, "newline"))
    open_markers.spans += [(0, 4, True), (8, 14, True)]
    open_markers.cut(10)
    assert (open_markers.stack, open_markers.held) == ([], [])
    assert fields(open_markers.free) == fields(held(12))
    assert open_markers.spans == [(8, 14, True)]


def test_every_kind_is_counted() -> None:
    assert set(CLOSERS) < set(KINDS)
    assert code_limit(4000) == 500
    assert code_limit(50) == 50


@pytest.mark.parametrize("mark", sorted(MARKS))
def test_every_mark_is_read(mark: str) -> None:
    assert MARK_HANDLERS[mark](OpenMarkers(500), f"a {mark}", 2, True) > 2


@pytest.mark.parametrize(
    "text", ["a *", "a **", "a (", 'a "', "a ||", "a ~~", "a \\", "a <", "a *_"]
)
def test_undecided_marks_wait(text: str) -> None:
    at = 2
    open_markers = OpenMarkers(500)
    assert MARK_HANDLERS[text[at]](open_markers, text, at, False) == -1
    assert open_markers.stack == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a `b` c", [(2, 5, True)]),
        ("see http://x.y/z.", [(4, 16, True)]),
        ("hi <@12>", [(3, 8, True)]),
        ("[a](b) c", [(0, 6, True)]),
        ("(a) **b**", [(0, 3, False), (4, 9, False)]),
        ("(a\n\nb)", []),
        ("(a `)` b)", [(0, 9, False), (3, 6, True)]),
        (">>> a\nb\n\nc", [(0, 7, False)]),
        ("[a](b]c) d", [(0, 8, True)]),
        ("[a](b [c) d", [(0, 9, True)]),
        ("([a](b [c (d) e) f)", [(0, 19, False), (1, 16, True), (10, 13, False)]),
        ("plain", []),
    ],
)
def test_spans_of_a_whole_text(text: str, expected: list[tuple[int, int, bool]]) -> None:
    assert find_spans(text, 500) == expected


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("see h", 4),
        ("see htt", 4),
        ("see HTTPS:/", 4),
        ("xftp://", 1),
        ("see http:x", -1),
        ("see it", -1),
        ("", -1),
    ],
)
def test_a_url_may_have_begun(text: str, at: int) -> None:
    assert begun_url(text + "more", len(text)) == at


@pytest.mark.parametrize(("longest", "suffix"), [(100, "**)"), (10, "**)"), (9, "**"), (4, "")])
def test_what_fits_no_message_is_not_closed(longest: int, suffix: str) -> None:
    assert closing("(ab **x", [("(", 0), ("**", 4)], longest) == suffix


def test_every_place_moves_with_the_buffer() -> None:
    """A freed boundary may wait for the next piece too: found by fuzzing (L2)."""
    markers = OpenMarkers(500, None)
    markers.held = [HeldBoundary(30, 31, "newline")]
    markers.free = [HeldBoundary(20, 21, "newline", 25)]
    markers.spans = [(12, 14, True)]
    markers.shift(10)
    assert fields(markers.held) == fields([HeldBoundary(20, 21, "newline")])
    assert fields(markers.free) == fields([HeldBoundary(10, 11, "newline", 15)])
    assert markers.spans == [(2, 4, True)]


def test_a_link_whose_hold_has_ended_goes_no_further_than_its_line() -> None:
    """So that open links do not gather, one for each line (L7)."""
    markers = OpenMarkers(10)
    for at in range(0, 400, 4):
        while markers.stack and at >= markers.expiry():
            markers.expire()
        markers.labels.append(at)
        markers.link_text_closed(is_link=True)
        markers.line_break()
        assert len(markers.targets) <= 4
    assert markers.targets[-1] == 396


def test_a_newer_link_does_not_keep_an_older_one() -> None:
    markers = OpenMarkers(10)
    for at in (0, 12):
        while markers.stack and at >= markers.expiry():
            markers.expire()
        markers.labels.append(at)
        markers.link_text_closed(is_link=True)
    assert markers.targets == [0, 12]  # on one line an atom outlasts its hold (L5)
    markers.line_break()
    assert markers.targets == [12]


def test_the_gap_of_many_rules_stays_short() -> None:
    """Each rule is a break; thousands are one paragraph break, not a string of them (L7)."""
    text = "a\n" + "---\n" * 3000 + "b"
    assert messages(text, humanizer_degree=0) == ["a\n\nb"]
