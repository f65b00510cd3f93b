"""A text that is cut off where nothing in it ends: the last end is looked for in linear time."""

from __future__ import annotations

import pytest

from oshaberi import TextConfig, TextEngine
from oshaberi.events import Withheld
from tests.attacks.loop_watch import computing_at_most

LONG = 28_000


@pytest.mark.parametrize(
    "piece", ["(a. b) ", "Dr.) ", '"Dr." ', "e.g. ", ". . ", "3.", "「行く。」と", "!" * 70 + " "]
)
def test_a_long_text_without_an_end(piece: str) -> None:
    text = "so " + piece * (LONG // len(piece)) + "and"
    engine = TextEngine(TextConfig(humanizer_degree=0))
    events = engine.feed(text)
    with computing_at_most():
        events += engine.flush("stop", only_whole=True)
    assert any(isinstance(event, Withheld) for event in events)
