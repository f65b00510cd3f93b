"""Reports each decision of the text engine to an observer, if there is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from oshaberi.events import Boundary
from oshaberi.text.copied_state import CopiedState

DecisionKind = Literal[
    "boundary", "hold", "release", "transform", "orphan", "cut", "capture", "withhold"
]


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of the engine, with its reason."""

    kind: DecisionKind
    at: int
    """The place in V up to which it looked."""
    why: str
    before: str = ""
    after: str = ""
    what: str = "text"
    """For a boundary, the kind of its segment; for a hold or release, the marker."""


class Observer(CopiedState):
    """Turns what a part of the engine does into decisions. `report` says where they go."""

    def __init__(self) -> None:
        self._at = 0

    def report(self, decision: Decision) -> None:
        raise NotImplementedError

    def boundary(self, at: int, why: Boundary, segment: str, kind: str) -> None:
        """Report that a segment, given by its text and kind, ends at `at`."""
        self._at = at
        self.report(Decision("boundary", at, why, after=segment, what=kind))

    def hold(self, at: int, marker: str) -> None:
        self.report(Decision("hold", at, "still open", what=marker))

    def release(self, marker: str, rule: str) -> None:
        """Report that text held by `marker` is released, by rule H1, H2 or H3."""
        self.report(Decision("release", self._at, rule, what=marker))

    def transform(self, name: str, before: str, after: str) -> None:
        self.report(Decision("transform", self._at, name, before, after))

    def note(self, kind: DecisionKind, why: str, before: str = "", after: str = "") -> None:
        self.report(Decision(kind, self._at, why, before, after))


class DecisionListener(Observer):
    """Passes each decision on at once."""

    def __init__(self, listen: Callable[[Decision], None]) -> None:
        super().__init__()
        self._listen = listen

    def report(self, decision: Decision) -> None:
        if decision.kind == "boundary":
            self._at = decision.at
        self._listen(decision)
