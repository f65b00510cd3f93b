"""Humanise: what changes, what is never touched, and the properties."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.text.measure import has_visible
from oshaberi.text.messages.humanize import humanize


class Always(random.Random):
    """A source that drops every comma (0.0), or none (0.9)."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self.value = value
        self.drawn = 0

    def random(self) -> float:
        self.drawn += 1
        return self.value


def drop(text: str) -> str:
    return humanize(text, Always(0.0))


def keep(text: str) -> str:
    return humanize(text, Always(0.9))


CASES = [
    # case
    ("One.", "one"),
    ("Two is here.", "two is here"),
    ("Dr. Smith left.", "dr. smith left"),
    ("NASA and the FBI met Bob", "NASA and the FBI met bob"),
    ("I think I'm late and I’ll run", "I think I'm late and I’ll run"),
    ("I'd go if I've time", "I'd go if I've time"),
    ("It's In Italy", "it's in italy"),
    ("My iPhone is on GitHub, not YouTube", "my iPhone is on GitHub not YouTube"),
    ("Well-Known X-ray", "well-known x-ray"),
    ("CPUs and MP3s and A list", "CPUs and MP3s and a list"),
    ("_Hello_ **World** ~~Gone~~", "_hello_ **world** ~~gone~~"),
    ("Élan Ökonomie Ещё", "élan ökonomie ещё"),
    ("İstanbul Straße", "İstanbul straße"),
    ("The U.S. Army", "the U.S. army"),
    ("Open Main.java or C:\\Temp", "open Main.java or c:\\Temp"),
    ("Ask @Mika in #General", "ask @Mika in #General"),
    ("Nice :D and :P", "nice :D and :P"),
    ("Heat it to 80 °C or 176°F", "heat it to 80 °C or 176°F"),
    ("A 12 V Cell at 50 Hz and 3 Mbps", "a 12 V cell at 50 Hz and 3 Mbps"),
    ("Take 2 Ω, 5\u00a0A, 300 K", "take 2 Ω 5\u00a0A 300 K"),
    ("There are 2 Cats. A Dog", "there are 2 cats. a dog"),
    # commas and semicolons
    ("yes, no; maybe", "yes no maybe"),
    ("it is 1,000,000 or 1, 2, 3", "it is 1,000,000 or 1, 2, 3"),
    ("in 2020, we met", "in 2020 we met"),
    ("a,b stay and c;d too", "a,b stay and c;d too"),
    ("well, (yes), no", "well (yes), no"),
    ("see, `Code` now", "see, `Code` now"),
    ('so, "Quoted, Text" now', 'so "Quoted, Text" now'),
    ("はい、そう，です", "はい、そう，です"),
    # the last period
    ("ok.", "ok"),
    ("おはよう。", "おはよう"),
    ("one. two.", "one. two"),
    ("wait...", "wait..."),
    ("wait…", "wait…"),
    ("really?.", "really?."),
    ("really?", "really?"),
    ("Stop!", "stop!"),
    ("そう。。", "そう。。"),
    ("milk, eggs, etc.", "milk eggs etc."),
    ("at 5 a.m.", "at 5 a.m."),
    ("in the U.S.", "in the U.S."),
    ("Me and I.", "me and I"),
    ("**Done.**", "**done**"),
    ("done .", "done ."),
    (".", "."),
    ("。", "。"),
    ("\u200b.", "\u200b."),
    ("  Hi.  ", "  hi  "),
    ("(Hi.)", "(hi.)"),
    ("Soup\n2.", "soup\n2."),
    ("See https://Example.com/A.", "see https://Example.com/A"),
    # untouched
    ("Run `Foo, Bar.`", "run `Foo, Bar.`"),
    ("```py\nPrint, It.\n```", "```py\nPrint, It.\n```"),
    ("Look:\n```\nOpen, Fence.", "Look:\n```\nOpen, Fence."),
    ("Read [The, Page](https://X.org/A_(B)) Now", "read [The, Page](https://X.org/A_(B)) now"),
    ("Read [The\nPage](https://X.org/A) Now", "read [The\nPage](https://X.org/A) now"),
    ("Hi <@123> And <:Soup:45> Or <t:1:R>", "hi <@123> and <:Soup:45> or <t:1:R>"),
    ("Some :Soup: Here", "some :Soup: here"),
    ('She said "Go, Now." Then', 'she said "Go, Now." then'),
    ("He said “Go, Now.” Then", "he said “Go, Now.” then"),
    ("「Go, Now.」 Then", "「Go, Now.」 then"),
    ("『Hm.』", "『Hm.』"),
    ('A 5" Disk And 7" Disk', 'a 5" disk and 7" disk'),
    ("Mika: Hello There.", "Mika: hello there"),
    ("Mika (Happy): Hello.", "Mika (Happy): hello"),
    ("**Mika:** Hello", "**Mika:** hello"),
    ("The Time is: Now", "the time is: now"),
    ("Take $X, Y$ And \\(A, B\\)", "take $X, Y$ and \\(A, B\\)"),
    ("So $$E = M$$ And \\[X\\] End", "so $$E = M$$ and \\[X\\] end"),
    ("Or \\begin{A}B, C\\end{A} End", "or \\begin{A}B, C\\end{A} end"),
    ("In ~/Docs/A.txt Or /Help.", "in ~/Docs/A.txt or /Help"),
    ("It costs $5, Bob has $10", "it costs $5 bob has $10"),
    ("If 3 < Four, 5 > Two", "if 3 < four 5 > two"),
    ("", ""),
    ("   ", "   "),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_table(text: str, expected: str) -> None:
    assert drop(text) == expected


def test_each_pause_is_drawn_by_itself() -> None:
    source = Always(0.9)
    assert humanize("Well, yes; no, `a, b`, 1,000", source) == "well, yes; no, `a, b`, 1,000"
    assert source.drawn == 2
    seen = {humanize("a, b; c", random.Random(seed)) for seed in range(40)}
    assert seen == {"a, b; c", "a b; c", "a, b c", "a b c"}


def test_the_same_source_gives_the_same_text() -> None:
    text = "Well, yes, no; maybe, so, what, then; now."
    assert humanize(text, random.Random(7)) == humanize(text, random.Random(7))


MARKS = """
Hi I I'm NASA iPhone İ ß Σ ǅ 1 1,000 , ; . 。 … ? ! ` ``` " “ ” 「 」 $ $$ < > : [ ]( ) * ** _ || @
# https://X.y etc U.S あ \\[ \\] /
"""
PIECES = st.sampled_from([*MARKS.split(), " ", ", ", "; ", "\n", "\u200b"])
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=16).map("".join)


def letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum()).casefold()


@given(TEXTS, st.integers(0, 9))
def test_no_letter_or_digit_is_lost(text: str, seed: int) -> None:
    assert letters(humanize(text, random.Random(seed))) == letters(text)


@given(TEXTS)
def test_words_stay_apart(text: str) -> None:
    assert len(drop(text).split()) == len(text.split())


def bare(text: str) -> str:
    return "".join(char for char in text if char not in ",;.。．｡").casefold()


@given(TEXTS)
def test_only_pauses_and_one_period_go(text: str) -> None:
    assert len(text) - len(keep(text)) in (0, 1)
    assert len(text) - len(drop(text)) <= text.count(",") + text.count(";") + 1
    assert bare(drop(text)) == bare(text)


@given(TEXTS)
def test_stays_visible_and_trimmed(text: str) -> None:
    result = drop(text)
    assert has_visible(result) == has_visible(text)
    if text == text.strip():
        assert result == result.strip()
