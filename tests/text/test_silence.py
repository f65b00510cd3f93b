"""The marker by which a model stays silent: recognised in pieces, never shown, never too much."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.text import silence
from oshaberi.text.silence import LONGEST_LINE, SilenceMarkerFilter

MARKERS = ("NO_REPLY", "[silence]")
NAMES = ("Mochi", "Oshaberi")
SIZES = (1, 2, 3, 5, 1000)


def shown(
    text: str, size: int, *, is_offered: bool = False, is_topic: bool = False
) -> tuple[str, bool]:
    marker = SilenceMarkerFilter(MARKERS, NAMES, is_offered=is_offered, is_topic=is_topic)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join(map(marker.feed, pieces)) + marker.end(), marker.found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("NO_REPLY", ""),
        (" \nNO_REPLY\n", " \n"),
        ("`NO_REPLY`", ""),
        ("**NO_REPLY**.", ""),
        ("[silence]", ""),
        ("<think>They talk.</think>NO_REPLY", "<think>They talk.</think>"),
        ("Fine.\nNO_REPLY", "Fine.\n"),
        ("Fine. NO_REPLY\n", "Fine. "),
        ("One.\nNO_REPLY\nTwo.", "One.\nTwo."),
        ("no_reply", ""),
        ("No_Reply.", ""),
        ("NO\\_REPLY", ""),
        ("Fine. NO\\_REPLY", "Fine. "),
        ("NO_REPLY…", ""),
        ("- NO_REPLY", ""),
        ("-# *NO_REPLY*", ""),
        ("# NO_REPLY", ""),
        ("```\nNO_REPLY\n```", ""),
        ("One.\nNO_REPLY\n\n\nTwo.", "One.\n\n\nTwo."),
        ("<NO_REPLY>", ""),
        ("||NO_REPLY||", ""),
        ("\u200bNO_REPLY\u200b", ""),
        ("🤐 NO_REPLY", ""),
        ("…NO_REPLY", ""),
        ("🤫🤫\nNO_REPLY", ""),
        ("<:zip:123> NO_REPLY", ""),
        (":zipper_mouth: **NO_REPLY**", ""),
        ("Mochi: 🤐 NO_REPLY", ""),
    ],
)
def test_a_marker_goes(text: str, left: str) -> None:
    for size in SIZES:
        assert shown(text, size) == (left, True), size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No, I will not.",
        "NO",
        "NO_REPL",
        "NO_REPLY is what I write to be silent.",
        "I write NO_REPLY to be silent.",
        "I write `NO_REPLY`",
        "xNO_REPLY",
        "NO_REPLYING",
        "NO_REPLY's meaning",
        "NO_REPLY-mails are a nuisance.",
        "NO_REPLY@mail.example wrote that.",
        "NO_REPLY.txt is the file.",
        "NO_REPLY, as a word, means nothing.",
        "`NO_REPLY` is what I write.",
        "“NO_REPLY” is what I write.",
        "NO_REPLYは沈黙の印です。",
        "I write NO_REPLY: then nobody hears me.",
        "The words are:\n- NO_REPLY: say nothing\n- PASS: the same",
        "Mochi: NO_REPLY is my word.",
        "Sure. NO_REPLY (that is the word) ends it.",
        "```\nNO_REPLY\n```\nThat is it.",
        "**No** way, *NO* \n\n NO_R",
        "write to no_reply",
        "no_reply is a mailbox",
        "- no\n- NO_\n-# n\n---\n",
        "||no||\n<no>",
        "🤐 NO_REPLY is what I write.",
        "<:zip:123> no reply",
        ":) NO",
    ],
)
def test_everything_else_stays(text: str) -> None:
    for size in SIZES:
        assert shown(text, size) == (text, False), size


@pytest.mark.parametrize(("text", "left"), [("Pass.", "Pass."), ("PASS.", "")])
def test_a_marker_that_is_a_word_is_not_any_word_like_it(text: str, left: str) -> None:
    marker = SilenceMarkerFilter(["PASS"])
    assert marker.feed(text) + marker.end() == left


@pytest.mark.parametrize(("begun", "left"), [("NO_RE", ""), ("NO_REPLY", ""), ("N", "N")])
def test_a_stop_does_not_show_half_a_marker(begun: str, left: str) -> None:
    marker = SilenceMarkerFilter(MARKERS)
    assert marker.feed(begun) + marker.end(cut=True) == left


def test_at_a_stop_only_half_a_marker_is_dropped() -> None:
    """Quotes and stars before it do not count: these words may begin anything."""
    for text, shown in (("“*(NO", "“*(NO"), ("```", "```"), ("NO_RE", ""), ("**NO_RE", "")):
        marker = SilenceMarkerFilter(["NO_REPLY"])
        assert marker.feed(text) + marker.end(cut=True) == shown


REASONS = [
    ("NO_REPLY (they talk to each other)", "they talk to each other"),
    ("NO_REPLY(not for me)", "not for me"),
    ("NO_REPLY?", ""),
    ("NO_REPLY: they talk to each other", "they talk to each other"),
    ("NO_REPLY — it is Ann's turn", "it is Ann's turn"),
    ("NO_REPLY - not for me", "not for me"),
    ("NO_REPLY -- not for me", "not for me"),
    ("NO_REPLY. They talk to each other.", "They talk to each other"),
    ("**NO_REPLY**: not for me", "not for me"),
    ("[NO_REPLY] They talk to each other", "They talk to each other"),
    ("(NO_REPLY: not for me)", "not for me"),
    ("NO_REPLY\n\nThey talk\nto each other.", "They talk to each other"),
    ("NO_REPLY\n(They talk.)", "They talk"),
    ("> NO_REPLY\nNot for me", "Not for me"),
    ("\n NO_REPLY 🤐", "🤐"),
    ("NO_REPLY（二人の会話なので）", "二人の会話なので"),
    ("NO_REPLY。二人の会話です。", "二人の会話です"),
    ("Mochi: NO_REPLY (not for me)", "not for me"),
    ("**Oshaberi (shy):** NO_REPLY: not for me", "not for me"),
    ("<think>They talk. <b>Hm.</b></think>\nNO_REPLY: not for me", "not for me"),
    ("<details>calm</details>NO_REPLY: not for me", "not for me"),
    ("[silence] (not for me)", "not for me"),
]


@pytest.mark.parametrize(("text", "reason"), REASONS)
def test_an_answer_that_begins_with_a_marker_is_silence_with_a_reason(
    text: str, reason: str
) -> None:
    blocks = ("", "<think>They talk. <b>Hm.</b></think>", "<details>calm</details>")
    for size in SIZES:
        marker = SilenceMarkerFilter(MARKERS, NAMES)
        said = "".join(marker.feed(text[at : at + size]) for at in range(0, len(text), size))
        said += marker.end()
        assert said.strip() in blocks, size
        assert (marker.found, marker.reason) == (True, reason), size
        assert said + "".join(marker.withheld) == text, size


@pytest.mark.parametrize(
    "text",
    ["NO_REPLY they talk to each other", "`NO_REPLY` not for me", "NO_REPLY, not for me"],
)
def test_where_a_marker_was_offered_any_word_may_begin_the_reason(text: str) -> None:
    for size in SIZES:
        assert shown(text, size, is_offered=True) == ("", True), size
        assert shown(text, size) == (text, False), size


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Sure, done.\nNO_REPLY (nothing to add)", "Sure, done.\n"),
        ("Sure, done.\n\n*NO_REPLY: nothing to add*\n\n", "Sure, done.\n\n"),
        ("Sure, done.\nNO_REPLY?\n", "Sure, done.\n"),
    ],
)
def test_a_last_line_that_begins_with_a_marker_goes(text: str, left: str) -> None:
    for size in SIZES:
        assert shown(text, size) == (left, True), size


@pytest.mark.parametrize(
    "text",
    [
        f"Fine.\nNO_REPLY: {'x' * LONGEST_LINE}",
        f"Fine.\nNO_REPLY: hm{' ' * 2000}",
        f"Fine.\nNO_REPLY: hm{chr(10) * 2000}So.",
        f"Fine. NO_REPLY{chr(10) * 2000}So.",
        f"NO_REPLY{' ' * 2000}is a word.",
        f"-{' ' * 2000}NO_REPLY is a word.",
    ],
)
def test_text_is_held_back_only_for_a_while(text: str) -> None:
    for size in SIZES:
        marker, said = SilenceMarkerFilter(MARKERS, NAMES), ""
        for at in range(0, len(text), size):
            said += marker.feed(text[at : at + size])
            assert min(at + size, len(text)) - len(said) <= LONGEST_LINE, size
        assert said + marker.end() == text, size


SIGNS = (
    "\n",
    " ",
    ".",
    "(",
    ")",
    ": ",
    "-",
    ">",
    "*",
    "`",
    "```",
    ",",
    "?",
    "\n\n",
    "\u200b",
    "\x1c",
    "— ",
)
WORDS = ("NO_REPLY", "no_reply", "NO\\_REPLY", "NO", "_RE", "Mochi: ", "so", "は")
PIECES = st.sampled_from((*WORDS, *SIGNS, "<think>", "</think>", "🤐", "…", "<:zip:123>", ":zip:"))


@given(
    st.lists(PIECES, max_size=14).map("".join),
    st.lists(st.integers(0, 60), max_size=6),
    st.sampled_from(({}, {"is_offered": True}, {"is_topic": True})),
    st.booleans(),
)
def test_it_does_not_matter_how_the_text_was_cut(
    text: str, cuts: list[int], known: dict[str, bool], cut: bool
) -> None:
    """Nothing is lost either: all text is shown or withheld."""

    def played(pieces: list[str]) -> tuple[str, list[str], bool]:
        marker = SilenceMarkerFilter(MARKERS, NAMES, **known)
        said = "".join(map(marker.feed, pieces)) + marker.end(cut=cut)
        return said, list(marker.withheld), marker.found

    edges = sorted({0, *(at for at in cuts if at < len(text)), len(text)})
    whole = played([text])
    assert whole == played(list(text)) == played([text[a:b] for a, b in pairwise(edges)])
    assert sorted(whole[0] + "".join(whole[1])) == sorted(text)


def test_a_word_of_a_large_piece_does_not_copy_all_that_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """L7, also where an answer comes in one piece."""
    longest = 0

    class Watched:
        """A pattern that notes how much text it is given."""

        def search(self, rest: str) -> re.Match[str] | None:
            nonlocal longest
            longest = max(longest, len(rest))
            return re.search(r"[\s>]", rest)

    monkeypatch.setattr(silence, "_PLACE", Watched())
    text = "no words of an answer. " * 2000
    marker = SilenceMarkerFilter(("NO_REPLY",))
    assert marker.feed(text) + marker.end() == text
    assert 0 < longest < 2000


@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY: I write it to be silent.",
        "**NO_REPLY** – that is my word for silence.",
        "NO_REPLY\nThat is what I write to be silent.",
        "It is this word:\nNO_REPLY\nNobody sees it.",
        "My word for silence is NO_REPLY",
        "```\nNO_REPLY\n```\nThat is it.",
        "Mochi: NO_REPLY (that is the word)",
    ],
)
def test_an_answer_to_somebody_who_asked_about_the_marker_may_name_it(text: str) -> None:
    for size in SIZES:
        assert shown(text, size, is_topic=True) == (text, False), size


@pytest.mark.parametrize("text", ["NO_REPLY", "`no_reply`.\n", "Mochi: NO_REPLY", "NO_REPLY\n\n"])
def test_nothing_but_the_marker_is_silence_though_somebody_asked_about_it(text: str) -> None:
    for size in SIZES:
        assert shown(text, size, is_topic=True) == ("", True), size
