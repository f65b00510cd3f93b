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
    """Of a boundary: the kind of its segment. Of a hold or release: the marker."""


class Observer(CopiedState):
    """Turns the reports of the engine's parts into decisions."""

    def __init__(self, listen: Callable[[Decision], None]) -> None:
        self._listen = listen
        self._at = 0

    def boundary(self, at: int, why: Boundary, segment: str, kind: str) -> None:
        """Report that a segment, given by its text and kind, ends at `at`."""
        self._at = at
        self._listen(Decision("boundary", at, why, after=segment, what=kind))

    def hold(self, at: int, marker: str) -> None:
        self._listen(Decision("hold", at, "still open", what=marker))

    def release(self, marker: str, rule: str) -> None:
        """Report that text held by `marker` is released, by rule H1, H2 or H3."""
        self._listen(Decision("release", self._at, rule, what=marker))

    def transform(self, name: str, before: str, after: str) -> None:
        self._listen(Decision("transform", self._at, name, before, after))

    def note(self, kind: DecisionKind, why: str, before: str = "", after: str = "") -> None:
        self._listen(Decision(kind, self._at, why, before, after))
