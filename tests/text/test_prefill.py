"""Spec 06 S6: the prefill stands at the head of V exactly once."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.text.config import Persona
from oshaberi.text.intake import PrefillEcho

from .engine_runs import messages, outcome, run

SOUP = "<:soup:111111111111111111>"
BOB = {"name": "bob", "id": "12"}


@pytest.mark.parametrize(
    ("prefill", "text", "expected"),
    [
        ("Hello", " world", ["Hello world"]),
        ("Hello", "Hello world", ["Hello world"]),
        ("Hello", " \n Hello world", ["Hello world"]),
        ("Hello", "Hello", ["Hello"]),
        ("Hello", "Hello Hello", ["Hello Hello"]),
        # the white space at its end, echoed or not
        ("Hello ", "Hello world", ["Hello world"]),
        ("Hello ", "Helloworld", ["Hello world"]),
        ("```py\n", "```py\n\n  x\n```", ["```py\n\n  x\n```"]),
        ("```py\n", "```py\nx\n```", ["```py\nx\n```"]),
        # a partial match that diverges is given back in full
        ("Hello there", "Hello them", ["Hello there Hello them"]),
        ("Hello ", "hell no", ["Hello hell no"]),
        # the seam: letters on both sides, the text in upper case
        ("Hello", "World", ["Hello World"]),
        ("Unbeliev", "able", ["Unbelievable"]),
        ("Hello,", "World", ["Hello,World"]),
        ("Hello", "\nWorld", ["Hello", "World"]),
        # over several segments
        ("two\nlines\n", "two\nlines\nrest", ["two", "lines", "rest"]),
        ("two\nlines\n", "two\nother", ["two", "lines", "two", "other"]),
        # what it opens is known
        ("```py\n", "x = 1\n```", ["```py\nx = 1\n```"]),
        ("(first ", "and\nmore) ok\nb", ["(first and\nmore) ok", "b"]),
        ("- a\n", "  - b\n- c", ["- a\n  - b", "- c"]),
        ("   ", "x", ["x"]),
    ],
)
def test_once_at_the_head(prefill: str, text: str, expected: list[str]) -> None:
    made = messages(text, output_prefill=prefill, paragraph_mode="lines")
    assert made == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello world", ["world"]),
        ("world", ["world"]),
        ("Hell no", ["Hell no"]),
        ("Hello", []),
    ],
)
def test_stripped_but_not_shown(text: str, expected: list[str]) -> None:
    assert messages(text, output_prefill="Hello ", prefill_visible=False) == expected


@pytest.mark.parametrize(
    ("prefill", "text", "settings", "expected"),
    [
        ("Hi :soup:", "Hi :soup: yum", {"emojis": [SOUP]}, [f"Hi {SOUP} yum"]),
        ("Hi :soup:", f"Hi {SOUP} yum", {"emojis": [SOUP]}, [f"Hi {SOUP} yum"]),
        ("Hi @bob", "Hi <@12> ok", {"known": [BOB]}, ["Hi <@12> ok"]),
        ("Hi @bob", "Hi @bob ok", {"known": [BOB]}, ["Hi <@12> ok"]),
        ("Hi @bob", " ok", {"known": [BOB]}, ["Hi <@12> ok"]),
    ],
)
def test_echo_may_be_cleaned(
    prefill: str, text: str, settings: dict[str, Any], expected: list[str]
) -> None:
    assert messages(text, output_prefill=prefill, **settings) == expected


@pytest.mark.parametrize(
    ("text", "thoughts", "expected"),
    [
        ("<think>t</think>Hello there", ["t"], ["Hello there"]),
        ("<think>t\nu</think>\nHello there\nb", ["t\nu"], ["Hello there", "b"]),
        ("<think>Hello</think> there", ["Hello"], ["Hello there"]),
        ("<think>a</think> <think>b</think>Hello", ["a", "b"], ["Hello"]),
    ],
)
def test_thoughts_come_before_it(text: str, thoughts: list[str], expected: list[str]) -> None:
    found = outcome(run(text, humanizer_degree=1, output_prefill="Hello"))
    assert (found.thoughts, found.messages) == (thoughts, expected)


def test_waits_only_while_undecided() -> None:
    prefill = PrefillEcho("Hello", ["Hello"], visible=True)
    assert prefill.feed("  He") == ""
    assert prefill.feed("llo w") == "Hello w"
    assert prefill.feed("Hello") == "Hello"
    assert prefill.finish() == ""


def test_what_is_undecided_leaves_at_the_end() -> None:
    prefill = PrefillEcho("Hello", ["Hello"], visible=True)
    assert prefill.feed("Hel") == ""
    assert prefill.finish() == "Hello"
    assert prefill.finish() == ""


@pytest.mark.parametrize(
    ("prefill", "text", "expected"),
    [
        ("Sure,", "Mika: Sure, here", ["Sure, here"]),
        ("Sure,", " **Mika:** {{char}}: Sure, here", ["Sure, here"]),
        ("Sure, here", "Mika: are three", ["Sure, here are three"]),
        ("Sure, ", "Mika:  are three", ["Sure, are three"]),
        ("Sure, ", "Mika is here", ["Sure, Mika is here"]),
        ("Sure, ", "Mika", ["Sure, Mika"]),
        ("Sure, ", "mika://x", ["Sure, mika://x"]),
        ("Sure, ", "Ren: here", ["Sure, Ren: here"]),
        ("Mika:", "Mika: here", ["here"]),
    ],
)
def test_the_own_label_is_no_part_of_an_echo(prefill: str, text: str, expected: list[str]) -> None:
    assert messages(text, output_prefill=prefill, persona=Persona("Mika")) == expected
