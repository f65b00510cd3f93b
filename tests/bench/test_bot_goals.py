"""Starts, sizes and growth are compared with what they may be, and a miss is seen."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from bench.whole_bot.goals import Goal, goal_table
from bench.whole_bot.installed_size import installed_packages, size_goal, size_table, total_mb
from bench.whole_bot.scale import Growth, ScalePoint, drawn, growth_table, is_faster_than_linear
from bench.whole_bot.starts import Start, StartFigures, start_goals, start_table

BARE = StartFigures("bare", [Start(0.9, 0.6, 70.0, 73.0)] * 3)
OURS = StartFigures("sqlite", [Start(1.3, 1.0, 99.0, 114.0), Start(9.0, 1.0, 99.0, 114.0)])


def test_what_is_over_its_goal_is_named() -> None:
    slow = replace(OURS, starts=[*OURS.starts, Start(1.5, 1.0, 99.0, 116.0)])
    goals = start_goals([BARE, slow])
    assert [goal.is_missed for goal in goals] == [True, False, False]
    assert goals[0].limit == pytest.approx(1.4)
    table = goal_table(goals)
    assert table.startswith("Goals: 3, 1 missed")
    assert table.count("<<< missed") == 1
    assert "1.50" in start_table([BARE, slow])


def test_what_is_installed_is_counted() -> None:
    found = installed_packages()
    sizes = {one.name: one.mb for one in found}
    assert {"oshaberi", "discord-py", "sqlalchemy", "pydantic-core"} <= set(sizes)
    assert not {"openai", "pytest", "babel", "emoji"} & set(sizes)
    assert min(sizes["oshaberi"], sizes["sqlalchemy"]) > 3
    assert f"{len(found)} packages" in size_table(found)
    assert size_goal(found) == Goal('installed, "oshaberi[bot]"', total_mb(found), 120.0, "MB")


@pytest.mark.parametrize(
    ("found", "is_faster"),
    [
        ([(10, 5.0), (100, 5.5), (1000, 10.0)], False),
        ([(10, 5.0), (100, 6.0), (1000, 40.0)], True),
        ([(10, 5.0), (100, 5.0), (1000, 6.9)], False),
        ([(10, 5.0), (100, 5.0), (1000, 7.1)], True),
        ([(10, 5.0), (100, 5.0), (1000, 5.0), (10000, 90.0)], True),
    ],
)
def test_growth_is_compared_with_the_steps_before(
    found: list[tuple[float, float]], is_faster: bool
) -> None:
    assert is_faster_than_linear(found, noise=2.0) is is_faster


def test_the_dear_dimension_is_flagged_and_drawn() -> None:
    points = [ScalePoint(size, 1.0, 10.0, 90.0, 100.0) for size in (10, 100, 1000)]
    dear = [*points[:2], replace(points[2], turn_cpu_ms=500.0)]
    found = [Growth("personas", points), Growth("a < b", dear)]
    assert [one.faster_than_linear() for one in found] == [[], ["turn_cpu_ms"]]
    table = growth_table(found)
    assert table.count("<<< turn_cpu_ms") == 1
    picture = ElementTree.fromstring(drawn(found))
    assert len(picture.findall("{http://www.w3.org/2000/svg}circle")) == 12
