"""The marker by which a model stays silent: recognised in pieces, never shown, never too much."""

from __future__ import annotations

import pytest

from oshaberi.stream.silence_marker import SilenceMarkerFilter

MARKERS = ("NO_REPLY", "[silence]")


def shown(text: str, size: int) -> tuple[str, bool]:
    marker = SilenceMarkerFilter(MARKERS)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join(map(marker.feed, pieces)) + marker.end(), marker.found


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
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
        ("NO_REPLY\n\nBut wait.", "But wait."),
        ("One.\nNO_REPLY\nTwo.", "One.\nTwo."),
        ("no_reply", ""),
        ("No_Reply.", ""),
        ("NO\\_REPLY", ""),
        ("Fine. NO\\_REPLY", "Fine. "),
        ("NO_REPLY…", ""),
        ("- NO_REPLY", ""),
        ("-# *NO_REPLY*", ""),
        ("# NO_REPLY\nHm.", "Hm."),
        ("<NO_REPLY>", ""),
        ("||NO_REPLY||", ""),
        ("\u200bNO_REPLY\u200b", ""),
    ],
)
def test_a_marker_goes(text: str, left: str, size: int) -> None:
    assert shown(text, size) == (left, True)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
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
        "```\nNO_REPLY\n```\nThat is it.",
        "**No** way, *NO* \n\n NO_R",
        "write to no_reply",
        "no_reply is a mailbox",
        "- no\n- NO_\n-# n\n---\n",
        "||no||\n<no>",
    ],
)
def test_everything_else_stays(text: str, size: int) -> None:
    assert shown(text, size) == (text, False)


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
        silence = SilenceMarkerFilter(["NO_REPLY"])
        assert silence.feed(text) + silence.end(cut=True) == shown
