"""Stop strings of a server's admin, and answers that are made of their beginnings."""

from __future__ import annotations

import pytest

from oshaberi.providers.wire.text_outlet import StopStringCut
from tests.attacks.loop_watch import computing_at_most, memory_at_most

LONG = 5900
"""As much as fits into an option of a slash command."""
MANY = [f"{number:04}" * 10 for number in range(300)]


@pytest.mark.parametrize(
    "stops",
    [["a" * LONG], ["ab" * (LONG // 2)], ["a" * length for length in range(1, 100)][::-1], MANY],
    ids=["one letter", "two letters", "each a beginning of the next", "many"],
)
def test_making_the_cutter_is_linear(stops: list[str]) -> None:
    with computing_at_most():
        StopStringCut(stops)
    with memory_at_most(10):
        StopStringCut(stops)


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize(
    ("stop", "text"),
    [
        ("a" * LONG + "b", "a" * 100_000),
        ("a" * LONG + "b", ("a" * (LONG - 1) + "c") * 17),
        ("\n\nUser:", "\n\nUser" * 14_000),
    ],
    ids=["never complete", "nearly complete", "a label without its colon"],
)
def test_a_text_of_beginnings_takes_linear_time(stop: str, text: str, size: int) -> None:
    cut = StopStringCut([stop, *MANY])
    shown: list[str] = []
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    with computing_at_most(0.5):  # 100 000 characters, each a few steps of Python
        shown.extend(map(cut.feed, pieces))
    assert "".join([*shown, cut.finish()]) == text
