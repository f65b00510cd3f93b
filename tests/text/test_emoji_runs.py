"""Custom emoji that stand alone (spec 07)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.text.atoms import CUSTOM_EMOJI, code_spans
from oshaberi.text.messages.emoji_runs import parts

SOUP = "<:soup:111111111111111111>"
DANCE = "<a:dance:222222222222222222>"
JOE_1 = "<:joe_1:310000000000000000>"
JOE_2 = "<:Joe2:320000000000000000>"
CODE_LIMIT = 500


def isolate(line: str, prefix_length: int) -> list[str]:
    """Split `line` into messages: emoji that stand alone, and the text between them."""
    if CUSTOM_EMOJI.search(line) is None:
        return [line]
    kept = code_spans(line, CODE_LIMIT)
    return [part.text for part in parts(line, 0, len(line), prefix_length, kept)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"I really like {SOUP}, don't you?", [f"I really like {SOUP}, don't you?"]),
        (f"I like {SOUP} a lot", [f"I like {SOUP} a lot"]),
        (f"I like {SOUP} {DANCE} a lot", [f"I like {SOUP} {DANCE} a lot"]),
        (f"That was amazing! {SOUP}", ["That was amazing!", SOUP]),
        (f"すごい！{SOUP}ね", ["すごい！", SOUP, "ね"]),
        (f"Wow! {SOUP} and more", ["Wow!", SOUP, "and more"]),
        (f"Well... {SOUP} then", ["Well...", SOUP, "then"]),
        # an abbreviation ends no sentence
        (f"I asked Dr. {SOUP} about it", [f"I asked Dr. {SOUP} about it"]),
        (f"Food, e.g. {SOUP} or so", [f"Food, e.g. {SOUP} or so"]),
        (f"so good {SOUP}", ["so good", SOUP]),
        (f"{SOUP} looks tasty", [SOUP, "looks tasty"]),
        (f"{SOUP} then {DANCE} ok", [SOUP, f"then {DANCE} ok"]),
        (SOUP, [SOUP]),
        ("no emoji 🍲 here", ["no emoji 🍲 here"]),
    ],
)
def test_alone_or_mid_sentence(line: str, expected: list[str]) -> None:
    assert isolate(line, 3) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{SOUP}{DANCE}", [SOUP, DANCE]),
        (f"{JOE_1} {JOE_2}", [JOE_1 + JOE_2]),
        (f"{JOE_1}{JOE_2} {SOUP} {JOE_1}", [JOE_1 + JOE_2, SOUP, JOE_1]),
        ("<:j_o:1> <:jo:2>", ["<:j_o:1>", "<:jo:2>"]),
    ],
)
def test_families_share_a_message(line: str, expected: list[str]) -> None:
    assert isolate(line, 3) == expected


def test_prefix_length_decides_the_family() -> None:
    assert isolate("<:catA:1> <:catB:2>", 4) == ["<:catA:1>", "<:catB:2>"]
    assert isolate("<:catA:1> <:cotB:2>", 1) == ["<:catA:1><:cotB:2>"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"I like {SOUP}.", [f"I like {SOUP}."]),
        (f"Nice! {SOUP}!", [f"Nice! {SOUP}!"]),
        (f"{SOUP}! tasty", [f"{SOUP}!", "tasty"]),
        (f"{SOUP}, {DANCE},", [f"{SOUP},", f"{DANCE},"]),
        (f"{SOUP} {DANCE}?!", [SOUP, f"{DANCE}?!"]),
        (f"foo {SOUP}! {DANCE} bar", [f"foo {SOUP}!", DANCE, "bar"]),
    ],
)
def test_punctuation_right_behind(line: str, expected: list[str]) -> None:
    assert isolate(line, 3) == expected


@pytest.mark.parametrize("marker", ["1. ", "12) ", "- ", "* ", "• ", "  - "])
def test_list_items_keep_their_emoji(marker: str) -> None:
    for text in (SOUP, f"wow! {SOUP}", f"{SOUP} x"):
        assert isolate(marker + text, 3) == [(marker + text).strip()]


def test_continuation_of_an_item_keeps_its_emoji() -> None:
    text = f"- one\n  wow! {SOUP}"
    assert isolate(text, 3) == [text]
    assert isolate(f"- one\nwow! {SOUP}", 3) == ["- one\nwow!", SOUP]


@pytest.mark.parametrize("marker", ["# ", "> ", "-# "])
def test_marker_is_not_left_alone(marker: str) -> None:
    assert isolate(marker + SOUP, 3) == [marker + SOUP]
    assert isolate(f"{marker}wow! {SOUP}", 3) == [f"{marker}wow!", SOUP]


def test_code_and_kept_spans_are_text() -> None:
    assert isolate(f"`{SOUP}` x", 3) == [f"`{SOUP}` x"]
    text = f"**wow! {SOUP}** {DANCE}"
    bold = (0, text.index(" " + DANCE))
    assert [p.text for p in parts(text, 0, len(text), 3, [bold])] == [f"**wow! {SOUP}**", DANCE]


TOKENS = st.sampled_from(
    [SOUP, DANCE, JOE_1, JOE_2, "word", "Wow!", "`", ",", ".", "- ", "\n", " "]
)


@given(st.lists(TOKENS, max_size=25).map("".join), st.integers(1, 5))
def test_nothing_is_lost_and_parts_are_in_order(text: str, prefix_length: int) -> None:
    made = parts(text, 0, len(text), prefix_length, [])
    assert "".join("".join(p.text for p in made).split()) == "".join(text.split())
    at = 0
    for part in made:
        assert at <= part.start < part.end <= len(text)
        source = text[part.start : part.end]
        assert part.text == source or not CUSTOM_EMOJI.sub("", source).strip(" .,!")
        assert part.text == part.text.strip()
        at = part.end
