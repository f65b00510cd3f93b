"""Spec 05 C1-C6: think and details blocks leave the stream; the seam; tags in code are text."""

from __future__ import annotations

import pytest

from oshaberi.events import Details, Thought
from oshaberi.text.captured_blocks import Capture, Captured, StrayClose

from .engine_runs import messages, outcome, run


@pytest.mark.parametrize(
    ("text", "thoughts", "expected"),
    [
        # C1
        ("<think>a</think>b", ["a"], ["b"]),
        ("<THINK>a</Think>b", ["a"], ["b"]),
        ("<mm:think>a</mm:think>b", ["a"], ["b"]),
        ("<thinking>a</thinking>b", ["a"], ["b"]),
        ("<reasoning>a</reasoning>b", ["a"], ["b"]),
        ("<think>a</reasoning>b", ["a"], ["b"]),
        ("<think>a</x:thinking>b", ["a"], ["b"]),
        ('<think budget="9">a</think >b', ["a"], ["b"]),
        ("<think> a\n\nb \n</think>\n\nc", ["a\n\nb"], ["c"]),
        ("<think>a < b, a <b> c</think>d", ["a < b, a <b> c"], ["d"]),
        ("<think>```\n</think>ok", ["```"], ["ok"]),
        ("<think>`</think>ok`", ["`"], ["ok`"]),
        ("<think>a<details>d</details></think>b", ["a<details>d</details>"], ["b"]),
        ("<think>a <think> b</think> c</think> d", ["a <think> b"], ["c d"]),
        ("<thinker>a</thinker>b", [], ["<thinker>a</thinker>b"]),
        ("<unthink>a</unthink>b", [], ["<unthink>a</unthink>b"]),
        # C3
        ("secret</think>Hello", ["secret"], ["Hello"]),
        ("sec\nret</think>Hello", [], ["sec", "ret Hello"]),
        ("</think>Hello", [], ["Hello"]),
        ("<think>a</think>Hi</think> there", ["a"], ["Hi there"]),
        ("secret</think>Hi</think> there", ["secret"], ["Hi there"]),
        ("(sec\nret</think>Hello", ["(sec\nret"], ["Hello"]),
        # C4
        ("```\n<think>x</think>\n```", [], ["```\n<think>x</think>\n```"]),
        ("Use `<think>` tags.", [], ["Use `<think>` tags."]),
        ("`<think>a</think>`", [], ["`<think>a</think>`"]),
        ("``<think>a</think>``", [], ["``<think>a</think>``"]),
        ("`` <think>a</think> ``", ["a"], ["`` ``"]),
        ("it's ``so'' <think>a</think> or ``so'' x", ["a"], ["it's ``so'' or ``so'' x"]),
        ("stray `` <think>a</think foo> `` x", ["a"], ["stray `` `` x"]),
        ("stray ` <think>a</think foo> ` x", ["a"], ["stray ` ` x"]),
        ("`<think>a</think> <think>b</think>` x", ["b"], ["`<think>a</think> ` x"]),
        ("``<think>a</think> <think>b</think>`` x", ["b"], ["``<think>a</think> `` x"]),
        ("stray ` <think>a</think> ` x", ["a"], ["stray ` ` x"]),
        ("stray ` and <think>a</think> end", ["a"], ["stray ` and end"]),
        ("`x` <think>a</think> `y`", ["a"], ["`x` `y`"]),
        ("a ` <think>s</think>\nb", ["s"], ["a `", "b"]),
        ("a `\n<think>s ` t</think> b", ["s ` t"], ["a `", "b"]),
        ("a `b\n<think>s</think>` c", ["s"], ["a `b\n` c"]),
        ("````\n```\n<think>x</think>\n````", [], None),
        # C5
        ("a <think", [], ["a <think"]),
        ("a <thunk> b", [], ["a <thunk> b"]),
        ("a < b <", [], ["a < b <"]),
        ("<think\n>b", [], ["<think", ">b"]),
        (f"<think {'x' * 170}>a</think>b", ["a"], ["b"]),
        (f"<think {'x' * 200}>b", [], [f"<think {'x' * 200}>b"]),
        # C6
        ("Hi <think>open", ["open"], ["Hi"]),
        ("<think> \n </think>b", [], ["b"]),
        ("<think></think>", [], []),
        ("<think>", [], []),
    ],
)
def test_thoughts(text: str, thoughts: list[str], expected: list[str] | None) -> None:
    found = outcome(run(text, humanizer_degree=1))
    assert found.thoughts == thoughts
    if expected is not None:
        assert found.messages == expected


@pytest.mark.parametrize(
    ("text", "details", "expected"),
    [
        ("<details>x</details>y", ["x"], ["y"]),
        ("<DETAILS open>x</Details>y", ["x"], ["y"]),
        ("<details><summary>S</summary>in\nside</details>\ny", ["in\nside"], ["y"]),
        ("<details><summary a=1>S\nT</summary >x</details>y", ["x"], ["y"]),
        ("<details><summary>S</summary></details>y", [], ["y"]),
        (
            "a <details>1<details>2</details>3</details> b",
            ["1<details>2</details>3"],
            ["a b"],
        ),
        ("<details><think>t</think>x</details>y", ["<think>t</think>x"], ["y"]),
        ("a</details>b", [], ["a b"]),
        ("a <details>x", ["x"], ["a"]),
        ("```\n<details>x</details>\n```", [], ["```\n<details>x</details>\n```"]),
        ("show `<details>` now", [], ["show `<details>` now"]),
        ("<detailsx>y", [], ["<detailsx>y"]),
    ],
)
def test_details(text: str, details: list[str], expected: list[str]) -> None:
    found = outcome(run(text, humanizer_degree=1))
    assert (found.details, found.messages) == (details, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<think>x</think>b", ["a b"]),
        ("a <think>x</think> b", ["a b"]),
        ("a <think>x</think>b", ["a b"]),
        ("a<think>x</think> b", ["a b"]),
        ("a\n<think>x</think>\nb", ["a", "b"]),
        ("a<think>x</think>\nb", ["a", "b"]),
        ("a\n<think>x</think>b", ["a", "b"]),
        ("a<think>x</think><think>y</think>b", ["a b"]),
        ("a <think>x</think> <details>y</details> b", ["a b"]),
        ("a\n<think>x</think>.\nb", ["a.", "b"]),
        ("a\n<think>x</think>.b", ["a", ".b"]),
    ],
)
def test_seam(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


@pytest.mark.parametrize(
    ("text", "thoughts", "expected"),
    [
        ("plan</think>Hello", ["plan"], ["Hello"]),
        ("plan only", ["plan only"], []),
        ("a\nb<think>c</think>d</think>e", ["a\nb<think>c"], ["d e"]),
    ],
)
def test_starts_in_thought(text: str, thoughts: list[str], expected: list[str]) -> None:
    found = outcome(run(text, humanizer_degree=1, starts_in_thought=True))
    assert (found.thoughts, found.messages) == (thoughts, expected)


@pytest.mark.parametrize("text", ["...\nhm</think>Hello", "one\ntwo</think>Hello"])
def test_what_only_waits_can_be_taken_back(text: str) -> None:
    """C3: no message came before the closer, so all that waits was a thought."""
    found = outcome(run(text, humanizer_degree=0))
    assert "".join("".join(found.thoughts).split()) == text.partition("<")[0].replace("\n", "")
    assert found.messages == ["Hello"]


def test_nothing_but_a_possible_tag_is_held_back() -> None:
    capture = Capture(code_limit=500)
    assert list(capture.feed("some text <")) == ["some text "]
    assert capture.held == 1
    assert list(capture.feed("b> and `co")) == ["<b> and "]
    assert list(capture.feed("de` done")) == ["`code` done"]
    assert capture.held == 0


def test_plain_text_passes_at_once() -> None:
    capture = Capture(code_limit=500)
    assert capture.passes("plain")
    assert capture.passes("a < b <= c")
    assert not capture.passes("a <b")
    assert not capture.passes("a </")
    assert not capture.passes("a <")
    assert not capture.passes("`")
    assert list(capture.feed("<think>x")) == []
    assert not capture.passes("still inside")


def test_order_of_what_is_found() -> None:
    capture = Capture(code_limit=500)
    found: list[Captured] = list(capture.feed("a</think>b<think>c</think>d<details>e</details>"))
    found += capture.finish()
    assert found == ["a", StrayClose(), " b", Thought("c"), " d", Details("e")]


def test_long_thoughts_are_not_held_in_the_stream() -> None:
    capture = Capture(code_limit=500)
    assert list(capture.feed("<think>" + "x" * 100_000)) == []
    assert capture.held == 0
    assert list(capture.feed("</think>")) == [Thought("x" * 100_000)]
