"""The bench of prompt caching runs; a bot whose requests begin anew each time misses its goal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bench.whole_bot.caching import (
    APIS,
    CacheFigures,
    cache_goals,
    cache_table,
    measure_caching,
)


def test_what_is_read_anew_is_missed() -> None:
    good = CacheFigures("one", 20, 1000, 801, 70)
    bad = CacheFigures("two", 20, 1000, 799, 70)
    assert [goal.is_missed for goal in cache_goals([good, bad])] == [False, True]
    assert "80.1" in cache_table([good, bad])


@pytest.mark.slow
def test_a_conversation_is_measured(tmp_path: Path) -> None:
    marking = [api for api in APIS if api.needs_marks]
    (found,) = asyncio.run(measure_caching(tmp_path, marking, turns=3))
    assert (found.api, found.turns) == ("anthropic", 3)
    assert 0 < found.cached_tokens < found.input_tokens
    assert found.share > 50, "the second and third request begin as the first did"
