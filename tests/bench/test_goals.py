"""The goals of the engine, of streams and readers can be missed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.goals import reader_goals, stream_goals, token_goals
from bench.reader import ReaderView
from bench.streams import Cost, Load
from bench.tokens import TokenCost

from bench import goals


def cost(text: str, us: float) -> TokenCost:
    return TokenCost(text, 1.0, 2.0, dict.fromkeys(range(4), us))


def test_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = [cost("markdown", 0.2), cost("a\\n", 9.0), cost("*a", 6.0)]
    monkeypatch.setattr(goals, "COMPILED", True)
    found = token_goals(costs, ["markdown"])
    assert [(goal.value, goal.is_missed) for goal in found] == [(0.1, False), (4.5, True)]
    monkeypatch.setattr(goals, "COMPILED", False)
    (line,) = token_goals(costs, ["markdown"])
    assert (line.value, line.is_missed) == (9.0, True)


def test_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Load(1, 3600, 0.9, 0, 1, 40, 1, 1, highest=True)
    loads = [load, replace(load, streams=9000, clock="processor"), replace(load, degree=2)]
    monkeypatch.setattr(goals, "COMPILED", True)
    token, one, two = stream_goals([Cost(2, 1, 9, 2, 1, 1)], loads)
    assert token.is_missed
    assert (one.value, one.is_missed, two.is_missed) == (3600, False, False)
    assert stream_goals([], [])[0].is_missed


def test_a_reader() -> None:
    good = ReaderView("1", 30, 0.3, 0.2, 1.2, 1.04, 10, 0, 100)
    views = [good, replace(good, mode="2"), replace(good, mode="live")]
    assert not any(goal.is_missed for goal in reader_goals(views))
    late = replace(good, first_s=0.5, worst_last_s=1.6)
    removing = replace(good, mode="live", silence_s=1.06, removed=11)
    found = reader_goals([late, replace(late, mode="2"), removing])
    assert all(goal.is_missed for goal in found)
