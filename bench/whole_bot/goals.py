"""What is aimed at, and whether it is reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report import aligned_table

_FLAG = "<<< missed"


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure, and what it may be at most, or should be at least."""

    what: str
    value: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def is_missed(self) -> bool:
        return self.value < self.limit if self.at_least else self.value > self.limit


def goal_table(goals: Sequence[Goal]) -> str:
    missed = sum(goal.is_missed for goal in goals)
    title = f"Goals: {len(goals)}, {missed} missed"
    rows = [
        [
            goal.what,
            f"{goal.value:.2f} {goal.unit}",
            f"{'≥' if goal.at_least else '≤'} {goal.limit:.2f} {goal.unit}",
            _FLAG if goal.is_missed else "",
        ]
        for goal in goals
    ]
    return aligned_table(title, ["what", "value", "goal", ""], rows)
