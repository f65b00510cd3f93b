"""`whole_above_chars`: a long answer fills its messages, and the laws hold as for any other."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi import TextConfig, TextEngine
from oshaberi.events import Message

from . import law_checks
from .engine_feeding import run
from .law_configs import config
from .test_laws import LAW, SOURCES
from .text_grammar import PLAIN, huge, paragraph, texts

CONFIGS = pytest.mark.parametrize(
    "config",
    [
        replace(config(degree, tiny=tiny, mode=mode), whole_above_chars=above)
        for degree, tiny, mode, above in (
            (1, True, "lines", 150),
            (2, False, "blocks", 400),
            (3, True, "blocks", 1),
            (3, False, "lines", 300),
        )
    ],
    ids=lambda one: f"degree {one.humanizer_degree}, above {one.whole_above_chars}",
)
LINES = [f"Step {number} of the tutorial is this one." for number in range(1, 121)]
TUTORIAL = "\n".join(LINES)


@CONFIGS
@LAW
@given(text=SOURCES, seed=st.integers(0, 999))
def test_the_laws_hold(config: TextConfig, text: str, seed: int) -> None:
    assert law_checks.all_broken(TextEngine, text, config, random.Random(seed)) == []


@CONFIGS
@LAW
@given(text=texts((*PLAIN, paragraph, huge)))
def test_a_message_leaves_as_soon_as_it_is_full(config: TextConfig, text: str) -> None:
    assert law_checks.bounded_hold(TextEngine, text * 3, config) == []


def messages(degree: int, above: int, text: str = TUTORIAL) -> list[str]:
    chosen = TextConfig(
        humanizer_degree=degree, whole_above_chars=above, max_flush_count=1000, seed=4
    )
    return [one.text for one in run(TextEngine, chosen, [text]) if isinstance(one, Message)]


@pytest.mark.parametrize("degree", [1, 2])
def test_a_tutorial_is_not_a_hundred_bubbles(degree: int) -> None:
    assert len(messages(degree, 0)) == len(LINES)
    made = messages(degree, 500)
    small = [one for one in made if "\n" not in one]
    assert small == LINES[: len(small)]
    assert len("\n".join(small)) <= 500 < len("\n".join(LINES[: len(small) + 1]))
    assert len(made) - len(small) == -(-(len(TUTORIAL) - 500) // 1950)
    assert "\n".join(made) == TUTORIAL


def test_what_is_short_stays_as_it_is() -> None:
    for degree in (1, 2, 3):
        assert messages(degree, len(TUTORIAL)) == messages(degree, 0)


def test_the_rest_is_written_as_the_model_wrote_it() -> None:
    first, *rest = messages(3, 1, "Hello There. " + "This Is A Long Sentence. " * 40)
    assert rest == []
    assert first.startswith("Hello There. This Is A Long Sentence.")
    assert messages(3, 0, "Hello There. ")[0] != "Hello There."


def test_degree_0_does_not_change() -> None:
    assert messages(0, 10) == messages(0, 0)
