"""What the laws allow: differences the specification lists, each on a hand-made list of events."""

from __future__ import annotations

import pytest

from oshaberi.events import Event, Message, Thought, Withheld

from . import law_checks
from .law_configs import config
from .visible_text import visible

ZWSP = "\u200b"


def said(*texts: str) -> list[Event]:
    return [Message(text, "newline", segment=n) for n, text in enumerate(texts)]


ALLOWED: dict[str, tuple[str, list[Event]]] = {
    "carried punctuation": ("hello there\n.", said("hello there.")),
    "carried run": ("what\n?!?!\nreally", said("what?!?!", "really")),
    "orphan joins the next": ("prev\n...\nnext", said("prev", "...next")),
    "marker closed at the end": ("we won B) (barely", said("we won B) (barely)")),
    "two markers closed": ('so **she said "hi', said('so **she said "hi"**')),
    "quoted fence": ("> ```py\n> x = 1\n> ```\nok", said("```py\nx = 1\n```", "ok")),
    "indented fence": ("- a\n  ```\n  x\n    y\n  ```", said("- a", "```\nx\n  y\n```")),
    "longer fence": (
        "````md\n```py\nx\n```\n````\nok",
        said(f"```md\n`{ZWSP}`{ZWSP}`py\nx\n`{ZWSP}`{ZWSP}`\n```", "ok"),
    ),
    "unclosed fence": ("```py\nx\n\n", said("```py\nx\n```")),
    "split block": ("```py\na\n\nb\n```", said("```py\na\n\n```", "```py\nb\n```")),
    "line break": ("a<br>b", said("a\nb")),
    "subtext marker": ("-#\nsmall print\nbig", said("-# small print", "big")),
    "standard shortcode": ("nice :smile: one", said("nice 😄 one")),
    "custom emoji alone": (
        "hi!<:soup:111111111111111111>ok",
        said("hi!", "<:soup:111111111111111111>", "ok"),
    ),
    "emoji that share a message": (
        "<:joe_1:310000000000000000> <:joe_2:320000000000000000>",
        said("<:joe_1:310000000000000000><:joe_2:320000000000000000>"),
    ),
    "punctuation before an emoji": (
        "so\n。<:soup:111111111111111111>",
        said("so。", "<:soup:111111111111111111>"),
    ),
    "expression behind what was carried": ("so\n! ...\nyes", said("so! ...yes")),
    "tight quote": (">```\n>    x\n>\ty\n>```", said("```\n    x\n\ty\n```")),
    "tab as wide as the indent": ("   \t```\n\t x\n```", said("```\n x\n```")),
    "no-break space before a fence": (" \xa0```\n x\n```", said("```\n x\n```")),
    "closed line break": ("a</br>b", said("a\nb")),
    "nothing visible behind what was carried": ("a\n! \u200b", said("a!")),
    "nothing visible": ("a\n\u200b\nb", said("a", "b")),
    "rule": ("a\n\n---\n\nb", [*said("a"), Withheld("---", "rule", 1, (3, 6)), *said("b")]),
    "stray dot": (
        "```\nx\n```.\nok",
        [*said("```\nx\n```"), Withheld(".", "stray", 1, (9, 10)), *said("ok")],
    ),
    "seam": ("see<think>x</think>Okay", [Thought("x"), *said("see Okay")]),
    "degree 0": ("a\n```\nx\n```\nb", said("a\n\n```\nx\n```\n\nb")),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_listed_difference_is_allowed(name: str) -> None:
    text, events = ALLOWED[name]
    assert law_checks.conservation(text, config(1), events) == []


FORBIDDEN: dict[str, tuple[str, list[Event]]] = {
    "a joiner lost": ("a\u200b\nb", said("a", "b")),
    "a joiner lost inside a line": ("a \u200bb", said("a b")),
    "a joiner lost before a line": ("a\n\u200bb", said("a", "b")),
    "an expression glued to its own line": ("so ...\nyes", said("so ...yes")),
    "a tight quote takes a blank of the code": (">```\n>  x\n>```", said("```\n x\n```")),
    "a tight quote takes a tab of the code": (">```\n>\tx\n>```", said("```\nx\n```")),
    "dedented by another space": (" \xa0```\n x\n```", said("```\nx\n```")),
    "emoji glued to text": (
        "<:joe_1:310000000000000000> hi",
        said("<:joe_1:310000000000000000>hi"),
    ),
    "carried text": ("files\n.env", said("files.env")),
    "rule not named": ("a\n---\nb", said("a", "b")),
    "withheld, but sent too": ("a b", [*said("a b"), Withheld("b", "rule", 1, (2, 3))]),
    "closed what was not open": ("we won", said("we won)")),
    "closed in the middle": ("(barely\n\nwe won", said("(barely)", "we won")),
    "line break dropped": ("a<br>b", said("ab")),
    "quote kept in code": ("> ```\n> x\n> ```", said("```\n> x\n```")),
    "code dedented too far": ("  ```\n    x\n  ```", said("```\nx\n```")),
    "unclosed code cut": ("```py\nx\ny\n", said("```py\nx\n```")),
    "seam lost": ("see<think>x</think>Okay", [Thought("x"), *said("seeOkay")]),
    "thought lost": ("see<think>x</think>Okay", said("see Okay")),
    "joined over a newline": ("one\ntwo", said("onetwo")),
    "space inside a word": ("helloworld", said("hello world")),
    "code twice": ("```\nx\n```", said("```\nx\n```", "```\nx\n```")),
    "code after the text": ("```\nx\n```\nok", said("ok", "```\nx\n```")),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_unlisted_difference_is_caught(name: str) -> None:
    text, events = FORBIDDEN[name]
    assert law_checks.conservation(text, config(1), events) != []


def test_sentences_share_a_line_only_with_what_stood_alone() -> None:
    heavy = config(3)
    assert law_checks.conservation("Wow. ... yes", heavy, said("wow. ...yes")) == []
    assert law_checks.conservation("w。).。! yes", heavy, said("w。).。!yes")) == []
    assert law_checks.conservation("Wow ... yes", heavy, said("wow ...yes")) != []
    assert law_checks.conservation("Wow. .. yes", heavy, said("wow. ..yes")) != []


def test_only_a_cluster_longer_than_a_message_may_be_cut() -> None:
    tiny, mark = config(1, tiny=True), "\u0301"
    for size, allowed in ((60, False), (99, False), (100, True), (160, True)):
        text = "a" + mark * size
        events = said(text[:50], text[50:])
        assert (law_checks.clusters(text, tiny, events) == []) is allowed


def test_reference_reads_captures() -> None:
    seen = visible(
        "a <think>p</think> b<details open><summary>s</summary>q r</details>c</details>d"
    )
    assert seen is not None
    assert (seen.text, seen.thoughts, seen.details) == ("a b c d", ("p",), ("q r",))


@pytest.mark.parametrize(
    "text", ["x</think>y", "<think >x</think>", "`<think>` x", "<details><think>x</details>"]
)
def test_reference_knows_what_is_left_open(text: str) -> None:
    assert visible(text) is None


def test_reference_reads_line_ends_and_halves() -> None:
    seen = visible("a\r\nb\rc\0\ud83d\ude00\ud83d")
    assert seen is not None
    assert seen.text == "a\nb\nc😀\ufffd"
